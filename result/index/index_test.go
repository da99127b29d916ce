package index

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/result"
)

// The index follows the folders: new ones appear, changed ones change, removed ones disappear.
func TestIndexFollowsTheFolders(t *testing.T) {
	forEachDatabase(t, func(t *testing.T, location func(*testing.T, string) Location) {
		root := t.TempDir()
		x := open(t, location(t, root), root)
		if done := refresh(t, x); done.Results != 0 || done.Read != 0 {
			t.Fatalf("of nothing: %+v", done)
		}
		old := writeResult(t, root, "old", started, "veth", "bridge")
		writeResult(t, root, "new", started.Add(time.Hour), "xdp")
		if done := refresh(t, x); done.Read != 2 || done.Results != 2 || len(done.Skipped) != 0 {
			t.Errorf("first: %+v", done)
		}
		if done := refresh(t, x); done.Read != 0 || done.Removed != 0 || done.Results != 2 {
			t.Errorf("nothing changed: %+v", done)
		}
		want := []string{"new/2026-11-20T19-30-05Z", "old/2026-11-20T18-30-05Z"}
		if diff := cmp.Diff(want, list(t, x, Filter{})); diff != "" {
			t.Errorf("newest first (-want +got):\n%s", diff)
		}
		addSearch(t, old)
		if done := refresh(t, x); done.Read != 1 {
			t.Errorf("one changed: %+v", done)
		}
		if got := said(ask(t, x, "select count(*) from trials").rows); got != "[[4]]" {
			t.Errorf("trials after one more: %s", got)
		}
		if err := os.RemoveAll(filepath.Join(root, "new")); err != nil {
			t.Fatal(err)
		}
		if done := refresh(t, x); done.Removed != 1 || done.Results != 1 {
			t.Errorf("one removed: %+v", done)
		}
		if diff := cmp.Diff(want[1:], list(t, x, Filter{})); diff != "" {
			t.Errorf("after removal (-want +got):\n%s", diff)
		}
		if got := said(ask(t, x, "select count(*) from trials").rows); got != "[[3]]" {
			t.Errorf("trials of a removed result are left: %s", got)
		}
		if done, err := x.Refresh(t.Context(), true, nil); err != nil || done.Read != 1 {
			t.Errorf("all anew: %+v (%v)", done, err)
		}
	})
}

// The tables hold the content of the folder, in both databases alike.
func TestTablesHoldWhatTheFolderSays(t *testing.T) {
	forEachDatabase(t, func(t *testing.T, location func(*testing.T, string) Location) {
		root := t.TempDir()
		addSearch(t, writeResult(t, root, "one", started, "veth", "bridge"))
		x := open(t, location(t, root), root)
		refresh(t, x)
		for _, test := range []struct{ query, want string }{
			{"select name, folder, started, started_unix_ns, trials, clean, noisy, invalid, searches from results",
				"[[one one/2026-11-20T18-30-05Z 2026-11-20T18:30:05Z 1795199405000000000 3 2 1 0 1]]"},
			{"select hostname, kernel, cpu_model, cpus, memory_bytes, machine from hosts", "[[lab1 6.18.44 a CPU 2 17179869184 <nil>]]"},
			{"select trial, tx_packets, rx_packets, lost_packets, latency_min_ns, latency_mean_ns, latency_max_ns, latency_count, verdict, role, gap_max_ns, steal_ns, frame_bytes, search from trials order by trial",
				"[[0001 1010 1000 10 5000 5499.5 5999 1000 clean loop 9 11 64 <nil>] [0002 1010 1000 10 10000 10499.5 10999 1000 noisy loop 9 11 64 <nil>] [0003 1010 1000 10 5000 5499.5 5999 1000 clean loop 9 11 64 0001]]"},
			{"select latency_p99_9_ns is not null, latency_p99_99_ns is null from trials where trial = '0001'", alike(x, "[[true true]]", "[[1 1]]")},
			{"select trial, name, value, number from variables order by trial, name",
				"[[0001 links.*.kind veth <nil>] [0001 traffic.rate_pps 1000 1000] [0002 links.*.kind bridge <nil>] [0002 traffic.rate_pps 2000 2000] [0003 links.*.kind xdp <nil>]]"},
			{"select search, method, conformant, deviations, passed, trials, measuring_ns from searches", "[[0001 mlrsearch false quick <nil> 1 2000000000]]"},
			{"select finding, name, unit, value, low, high, reason, conditions, trial from findings order by finding",
				`[[1 NDR packets/s 812000 810000 <nil> <nil> {"frame_bytes":64} 0003] [2 PDR packets/s <nil> <nil> <nil> none was found <nil> <nil>]]`},
			{"select name, value from search_variables", "[[links.*.kind xdp]]"},
			{"select r.name, f.name from results r join findings f using (result) where f.value is not null", "[[one NDR]]"},
		} {
			if got := said(ask(t, x, test.query).rows); got != test.want {
				t.Errorf("%s\n got %s\nwant %s", test.query, got, test.want)
			}
		}
		if got := ask(t, x, "select 1 as a, 2 as a, 3 as a").columns; !cmp.Equal(got, []string{"a", "a_2", "a_3"}) {
			t.Errorf("columns of one name: %q", got)
		}
		shown, err := x.Show(t.Context(), "one/2026-11-20T18-30-05Z")
		if err != nil {
			t.Fatal(err)
		}
		wantVariables := []VariableValues{{"links.*.kind", []string{"veth", "bridge", "xdp"}}, {"traffic.rate_pps", []string{"1000", "2000"}}}
		if diff := cmp.Diff(wantVariables, shown.Variables); diff != "" {
			t.Errorf("variables (-want +got):\n%s", diff)
		}
		if len(shown.Findings) != 2 || shown.Findings[0].Variables != "links.*.kind=xdp" || *shown.Findings[0].Value != 812000 || shown.Findings[1].Value != nil {
			t.Errorf("findings: %+v", shown.Findings)
		}
	})
}

// alike adapts to printing differences: true in PostgreSQL is 1 in SQLite.
func alike(x *Index, postgres, sqlite string) string {
	if x.location.File == "" {
		return postgres
	}
	return sqlite
}

func TestListFilters(t *testing.T) {
	forEachDatabase(t, func(t *testing.T, location func(*testing.T, string) Location) {
		root := t.TempDir()
		writeResult(t, root, "quick-a", started, "veth", "bridge")
		writeResult(t, root, "quick-b", started.Add(time.Second), "bridge")
		writeResult(t, root, "slow", started.Add(time.Minute), "xdp", "xdp", "xdp")
		x := open(t, location(t, root), root)
		refresh(t, x)
		for name, test := range map[string]struct {
			filter Filter
			want   string
		}{
			"all":                 {Filter{}, "slow quick-b quick-a"},
			"by name":             {Filter{Name: "quick-*"}, "quick-b quick-a"},
			"one":                 {Filter{Limit: 1}, "slow"},
			"one of a name":       {Filter{Limit: 1, Name: "quick-?"}, "quick-b"},
			"by variable":         {Filter{Variables: map[string]string{"links.*.kind": "bridge"}}, "quick-b quick-a"},
			"by a key's end":      {Filter{Variables: map[string]string{"kind": "xdp"}}, "slow"},
			"no part of a word":   {Filter{Variables: map[string]string{"ind": "xdp"}}, ""},
			"by number":           {Filter{Variables: map[string]string{"rate_pps": "3e3"}}, "slow"},
			"noisy":               {Filter{Verdict: result.Noisy}, "slow quick-a"},
			"invalid":             {Filter{Verdict: result.Invalid}, ""},
			"in the same trial":   {Filter{Verdict: result.Noisy, Variables: map[string]string{"kind": "veth"}}, ""},
			"both of them":        {Filter{Verdict: result.Noisy, Variables: map[string]string{"kind": "bridge", "rate_pps": "2000"}}, "quick-a"},
			"a value that quotes": {Filter{Variables: map[string]string{"kind": "' or 1=1 --"}}, ""},
		} {
			var names []string
			for _, folder := range list(t, x, test.filter) {
				names = append(names, strings.Split(folder, "/")[0])
			}
			if got := strings.Join(names, " "); got != test.want {
				t.Errorf("%s: %q, want %q", name, got, test.want)
			}
		}
		if _, err := x.List(t.Context(), Filter{Name: "[a"}); err == nil || !strings.Contains(err.Error(), "is invalid") {
			t.Errorf("a broken pattern: %v", err)
		}
	})
}

// A query can only read, whatever it tries.
func TestQueryCannotWrite(t *testing.T) {
	forEachDatabase(t, func(t *testing.T, location func(*testing.T, string) Location) {
		root := t.TempDir()
		writeResult(t, root, "one", started, "veth")
		x := open(t, location(t, root), root)
		refresh(t, x)
		aside := filepath.Join(t.TempDir(), "aside.db")
		for _, statement := range []string{
			"delete from results",
			"with gone as (select 1) delete from results",
			"select 1; delete from results",
			"select ';'; delete from results",
			"select 1 /* ; */; drop table results",
			"/* a */ -- b\n drop table results",
			"commit",
			"pragma query_only = 0",
			"attach '" + aside + "' as aside",
			"vacuum into '" + aside + "'",
			"explain analyze delete from results",
			"select set_config('transaction_read_only', 'off', false), 1 from (select 1) x; delete from results",
			"select 'open",
			"", " ; ", "-- nothing",
		} {
			if err := x.Query(t.Context(), statement, time.Minute, &collected{}); err == nil {
				t.Errorf("%q was run", statement)
			} else if strings.Contains(err.Error(), "panic") {
				t.Errorf("%q: %v", statement, err)
			}
		}
		if _, err := os.Stat(aside); !os.IsNotExist(err) {
			t.Errorf("a file was made: %v", err)
		}
		for _, statement := range []string{"select count(*) from results", "(select count(*) from results)", " -- c\nSELECT count(*) FROM results ; ",
			"with a as (select * from results) select count(*) from a", "values (1)"} {
			if x.location.File != "" && strings.HasPrefix(statement, "(") {
				continue // SQLite lacks this syntax
			}
			if got := said(ask(t, x, statement).rows); got != "[[1]]" {
				t.Errorf("%q gives %s", statement, got)
			}
		}
		// And the index can be written afterwards.
		writeResult(t, root, "two", started, "veth")
		if done := refresh(t, x); done.Read != 1 {
			t.Errorf("after the queries: %+v", done)
		}
	})
}

func TestQueryEndsInTime(t *testing.T) {
	forEachDatabase(t, func(t *testing.T, location func(*testing.T, string) Location) {
		root := t.TempDir()
		x := open(t, location(t, root), root)
		err := x.Query(t.Context(), "with recursive n(i) as (select 1 union all select i + 1 from n) select count(*) from n", 100*time.Millisecond, &collected{})
		if err == nil || !strings.Contains(err.Error(), "--timeout") {
			t.Errorf("an endless statement: %v", err)
		}
		if got := said(ask(t, x, "select 1").rows); got != "[[1]]" {
			t.Errorf("after it: %s", got)
		}
	})
}
