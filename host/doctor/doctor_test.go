package doctor

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
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

// TestHosts: each recorded host has the findings that an expert would give it, the most
// important first.
func TestHosts(t *testing.T) {
	for _, name := range hosts {
		var b bytes.Buffer
		if err := Judge(load(t, name)).Write(&b); err != nil {
			t.Fatal(err)
		}
		golden.Equal(t, "testdata/"+name+".txt", b.Bytes())
	}
}

// TestJSON: the JSON says the same as the table.
func TestJSON(t *testing.T) {
	report := Judge(load(t, "microvm"))
	data, err := json.MarshalIndent(report, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	golden.Equal(t, "testdata/microvm.json", append(data, '\n'))
	var back Report
	if err := json.Unmarshal(data, &back); err != nil {
		t.Fatal(err)
	}
	var table, again bytes.Buffer
	if err := report.Write(&table); err != nil {
		t.Fatal(err)
	}
	if err := back.Write(&again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(table.String(), again.String()); diff != "" {
		t.Errorf("the report is another one when it is read back:\n%s", diff)
	}
}

// TestDocumented: the manual has a row for each kind of finding, and no other rows.
func TestDocumented(t *testing.T) {
	manual, err := os.ReadFile("../../docs/doctor.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for line := range strings.Lines(string(manual)) {
		if id, found := strings.CutPrefix(line, "| `"); found {
			id, _, _ = strings.Cut(id, "`")
			documented = append(documented, strings.TrimSuffix(id, "-NIC"))
		}
	}
	slices.Sort(documented)
	kinds := append(slices.Collect(maps.Keys(causes)), "vm-translated", "vm-untried", "privileged", "needs-…")
	slices.Sort(kinds)
	if diff := cmp.Diff(kinds, documented); diff != "" {
		t.Errorf("docs/doctor.md does not have the findings that there are (-want +got):\n%s", diff)
	}
}
