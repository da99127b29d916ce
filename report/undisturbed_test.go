package report

import (
	"strings"
	"testing"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// known is an undisturbed p50 of 2 µs and p99 of 3.10 µs, and no p99.9.
func known(holdTo float64) *result.Undisturbed {
	ns := func(v int64) *int64 { return &v }
	return &result.Undisturbed{Share: 0.8612, Packets: 86_120, HoldTo: holdTo, Assumed: []string{}, Percentiles: []result.UndisturbedPercentile{
		{Name: "p50", ValueNs: ns(2000), LowNs: ns(1990), HighNs: ns(2010)},
		{Name: "p90", ValueNs: ns(2500), LowNs: ns(2400), HighNs: ns(2600)},
		{Name: "p99", ValueNs: ns(3100), LowNs: ns(2900), HighNs: ns(3300)},
		{Name: "p99_9", Open: "too few"},
	}}
}

func TestUndisturbedInTheTable(t *testing.T) {
	of := func(kind string, list ...*result.Undisturbed) []result.Trial {
		trials := around(kind, len(list), 7000)
		for i := range trials {
			trials[i].Undisturbed = list[i]
		}
		return trials
	}
	open := known(97)
	open.Percentiles[2] = result.UndisturbedPercentile{Name: "p99", Open: "hardly any"}
	above := known(97)
	above.Percentiles[2].HighNs = nil
	assumed := known(99)
	assumed.Assumed = []string{"no interruption where none is seen: node dut"}
	for _, c := range []struct {
		name   string
		trials []result.Trial
		want   string
	}{
		{"none", of("veth", nil), ""},
		{"one", of("veth", known(97)), "undisturbed p99 3.10 µs (2.90 to 3.30) from 86 % of the packets; as measured p50 to p97 hold, undisturbed to p99"},
		{"not bounded", of("veth", above), "undisturbed p99 3.10 µs (2.90, open) from"},
		{"only p50", of("veth", known(50)), "as measured p50 holds, undisturbed to p99"},
		{"nothing holds", of("veth", known(0)), "as measured not even p50 holds, undisturbed to p99"},
		{"assumed", of("veth", assumed), "as measured p50 to p99 hold undisturbed trial 1: assumed: no interruption where none is seen: node dut"},
		{"refused", of("veth", &result.Undisturbed{Refused: "CPU 1 had 3 more"}), "undisturbed trial 1: not known: CPU 1 had 3 more"},
		{"open", of("veth", open), "undisturbed p90 2.50 µs (2.40 to 2.60) from 86 % of the packets; as measured p50 to p97 hold undisturbed trial 1: p99 is not known: hardly any"},
		{"two", append(of("veth", known(97)), of("xdp", known(90))...), "kind=xdp rate_pps=1000: undisturbed p99 3.10 µs"},
		{"not of all repeats", of("veth", known(97), nil), "undisturbed p99 3.10 µs (2.90 to 3.30) from 86 % of the packets of 1 of 2 trials; as measured"},
	} {
		var out strings.Builder
		writeUndisturbed(&out, terminal.Style{}, Groups(c.trials), c.trials)
		text := strings.ReplaceAll(strings.Join(strings.Fields(out.String()), " "), "trial veth1", "trial 1")
		if !strings.Contains(text, c.want) || (c.want == "") != (text == "") {
			t.Errorf("%s: %q, want %q", c.name, text, c.want)
		}
	}
}

func TestUndisturbedIsCompared(t *testing.T) {
	a, b := around("veth", 6, 7000), around("xdp", 6, 9000)
	for i := range a {
		a[i].Undisturbed, b[i].Undisturbed = known(97), known(97)
	}
	for _, c := range []struct {
		trials []result.Trial
		want   bool
	}{{inTurn(a, b), true}, {inTurn(around("veth", 6, 7000), around("xdp", 6, 9000)), false}} {
		comparison, err := CompareValues(resultWith("r", c.trials), "kind", "veth", "xdp")
		if err != nil {
			t.Fatal(err)
		}
		var table strings.Builder
		if err := WriteComparison(&table, comparison); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(table.String(), "undisturbed p99"); got != c.want {
			t.Errorf("has undisturbed p99: %v, want %v:\n%s", got, c.want, table.String())
		}
	}
}
