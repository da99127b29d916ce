package doctor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/host"
	"nines.dev/nines/test/golden"
)

// hosts are the recorded machines: four are constructed from published data, one was read.
var hosts = []string{"laptop-i7-1165g7", "cloud-c6i-xlarge", "epyc-7551p", "rt-xeon-6354", "microvm"}

func load(t *testing.T, name string) *host.Inventory {
	t.Helper()
	data, err := os.ReadFile("../testdata/hosts/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	inv, err := host.Load(data)
	if err != nil {
		t.Fatal(err)
	}
	return inv
}

// reports are those of the hosts by name, and that for the quickstart on the machine that was read.
func reports(t *testing.T) map[string]*Report {
	t.Helper()
	all := map[string]*Report{"microvm.quickstart": judgeFile(t, load(t, "microvm"), "../../examples/quickstart.yaml")}
	for _, name := range hosts {
		all[name] = Judge(load(t, name))
	}
	return all
}

// TestHosts: each report says of its host what an expert would, beside the findings.
func TestHosts(t *testing.T) {
	for name, report := range reports(t) {
		report.Findings = nil // TestFindings has them
		golden.Equal(t, "testdata/hosts/"+name+".txt", strings.Replace(written(t, report), "nothing was found", "…", 1))
	}
}

// TestFindings: each kind of finding says on each host what an expert would, and on a well-tuned host with its cause.
// It has a file of its own, so that another kind changes none.
func TestFindings(t *testing.T) {
	said := map[string]string{}
	tell := func(name string, findings []Finding) {
		for _, f := range findings {
			b := bytes.NewBufferString(said[kind(f.ID)])
			fmt.Fprintf(b, "== %s: %s, %s, %s%s\n", name, f.Subject, f.Severity, f.atTheTail(), choose(len(f.CPUs) > 0, ", CPUs "+list(f.CPUs), ""))
			f.write(b, 1)
			said[kind(f.ID)] = b.String() + "\n"
		}
	}
	all := reports(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		tell(name, all[name].Findings)
	}
	for id, cause := range causes {
		inv := perfect(t)
		cause.make(inv)
		found := Examine(inv, cause.scope())
		tell("its cause alone", slices.DeleteFunc(found, func(f Finding) bool { return kind(f.ID) != id }))
	}
	for id, text := range said {
		golden.Equal(t, "testdata/findings/"+id+".txt", text)
	}
	files, err := filepath.Glob("testdata/findings/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if said[strings.TrimSuffix(filepath.Base(path), ".txt")] == "" {
			t.Errorf("%s: nothing finds this any more, so remove the file", path)
		}
	}
}

// TestOrder: the most important finding comes first, on every host.
func TestOrder(t *testing.T) {
	for name, report := range reports(t) {
		if len(report.Findings) == 0 {
			t.Errorf("%s has no findings", name)
		}
		for i, f := range report.Findings[1:] {
			before := report.Findings[i]
			a, b := slices.Index(severities, before.Severity), slices.Index(severities, f.Severity)
			if a > b || a == b && before.worst() < f.worst() {
				t.Errorf("%s: %s comes before %s", name, before.ID, f.ID)
			}
		}
	}
}

// invented is a report with one of each: findings of each severity, with and without costs, commands, runs and CPUs.
var invented = Report{
	Schema: Schema, Hostname: "invented", Source: "a test's", Kernel: "6.12.0", System: "Debian", RunsIn: "bare metal",
	CPUs: []int{2, 3, 5}, Why: "those that the experiment's nodes, links and engines get", Runs: 3, Verdict: VerdictImpossible,
	Findings: []Finding{
		{
			ID: "needs-root", Subject: "needs", Severity: host.SeverityError, Title: "root is missing", Runs: []int{1, 3}, Why: "Nothing starts.",
			Evidence: []Evidence{{"nines host", "root: no"}}, Remedies: []Remedy{{Text: "run it with sudo", Commands: []string{"sudo nines run FILE"}}}, Source: "a test",
		},
		{
			ID: "slow", Subject: "power", Severity: host.SeverityWarning, Title: "CPUs are slow", CPUs: []int{2, 3},
			Evidence: []Evidence{{"/sys/first", "1"}, {"/sys/second", "a long value, so long that the line that tells of it has to be broken in two"}},
			Why:      "They take their time.", Cost: &Cost{FromUS: 1.8, ToUS: 2800, When: "at each packet", Basis: BasisComputed, Source: "constants"},
			Remedies: []Remedy{{Text: "boot with another parameter", Commands: []string{"first", "second"}, Reboot: true}, {Text: "or wait"}}, Source: "a test",
		},
		{
			ID: "warm", Subject: "power", Severity: host.SeverityNote, Title: "CPUs are warm", Why: "They work.",
			Evidence: []Evidence{{"/sys/third", "40"}}, Cost: &Cost{FromUS: 2, ToUS: 2, When: "at noon", Basis: BasisEstimate, Source: "a guess"},
			Remedies: []Remedy{{Text: "cool them"}}, Source: "a test",
		},
		{
			ID: "odd", Subject: "kernel", Severity: host.SeverityNote, Title: "something is odd", Why: "It is.",
			Evidence: []Evidence{{"/proc/odd", "yes"}}, Remedies: []Remedy{{Text: "leave it"}}, Source: "a test",
		},
	},
	Handled: []Handled{{"governor", "tuning: latency"}},
	Unseen:  []string{"what the firmware does"},
}

// TestReport: what a report looks like, and that its JSON says the same as the table, also of each host.
func TestReport(t *testing.T) {
	all := reports(t)
	all["invented"] = &invented
	for name, report := range all {
		data, err := json.MarshalIndent(report, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if table := written(t, report); name == "invented" {
			golden.Equal(t, "testdata/report.txt", table)
			golden.Equal(t, "testdata/report.json", append(data, '\n'))
		}
		var back Report
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(written(t, report), written(t, &back)); diff != "" {
			t.Errorf("%s: the report is another one when it is read back:\n%s", name, diff)
		}
	}
}

func written(t *testing.T, report *Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestDocumented: the manual has a row for each kind of finding that there is.
func TestDocumented(t *testing.T) {
	var table strings.Builder
	table.WriteString("| id | what is wrong | why it matters |\n|---|---|---|\n")
	for _, of := range findingKinds() {
		fmt.Fprintf(&table, "| `%s` | %s | %s |\n", of.id, of.wrong, of.matters)
	}
	golden.Part(t, "../../docs/doctor.md", "findings", table.String())
}
