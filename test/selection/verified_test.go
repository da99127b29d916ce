package selection

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

var digests = []string{strings.Repeat("0a", 32), strings.Repeat("1b", 32)}

func TestVerifiedIsReadAsWritten(t *testing.T) {
	want := Verified{"nines.dev/nines/lab": digests[0], "make test-web": digests[1]}
	text := want.Format()
	got, err := ParseVerified(text)
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v from\n%s", got, err, text)
	}
	if strings.Index(string(text), "make test-web") > strings.Index(string(text), "nines.dev") {
		t.Errorf("the lines are not sorted:\n%s", text)
	}
}

func TestWrongLinesOfVerifiedAreErrors(t *testing.T) {
	for text, want := range map[string]string{
		"nines.dev/nines/lab " + digests[0][:63] + "\n": "test/verified:1: not a unit and a digest",
		"# head\nlab\n": "test/verified:2:",
		"lab " + digests[0] + "\nlab " + digests[1] + "\n": "test/verified:2: a second line for lab",
		"<<<<<<< HEAD\n": "test/verified:1:",
	} {
		if _, err := ParseVerified([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// The file of this repository can be read, and names units that there are.
func TestTheVerifiedFile(t *testing.T) {
	text, err := os.ReadFile("../../" + VerifiedFile)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParseVerified(text); err != nil {
		t.Error(err)
	}
}

func TestAUnitHasPassedInAllItsPasses(t *testing.T) {
	p := Passed{Root: t.TempDir()}
	u := Unit{Name: "nines.dev/nines/lab", Digest: digests[0], Laboratory: true}
	for _, pass := range u.Passes() {
		missing, err := p.Missing(u)
		if err != nil || !slices.Contains(missing, pass) {
			t.Fatalf("before it has passed in %s it lacks %v, %v", pass, missing, err)
		}
		if err := p.Note(pass, u); err != nil {
			t.Fatal(err)
		}
	}
	if missing, err := p.Missing(u); err != nil || len(missing) > 0 {
		t.Errorf("when it has passed in all it lacks %v, %v", missing, err)
	}
	u.Digest = digests[1]
	if missing, err := p.Missing(u); err != nil || len(missing) != len(u.Passes()) {
		t.Errorf("with other contents it lacks %v, %v", missing, err)
	}
}

func TestStagesWithoutTestsAreLeftOut(t *testing.T) {
	units := []Unit{
		{Name: "make test-engine"}, {Name: "make test-fresh"}, {Name: "make test-web"},
		{Name: "nines.dev/nines/cluster/dra"}, {Name: "nines.dev/nines/plan"},
		{Name: "nines.dev/nines/lab", Laboratory: true}, {Name: harness}, {Name: machine, Laboratory: true},
		{Name: "nines.dev/nines/test", Always: true},
	}
	for i := range units {
		units[i].Digest = digests[0]
	}
	for _, c := range []struct{ changed, selected, idle string }{
		{"nothing", "", "make test-engine make test-fresh make test-web images test-vm setup-cluster test-cluster"},
		{"make test-web", "make test-web", "test-engine test-fresh images test-vm setup-cluster test-cluster"},
		{"plan", "plan", "test-engine test-fresh test-web images test-vm setup-cluster test-cluster"},
		{"cluster/dra", "cluster/dra", "test-engine test-fresh test-web images test-vm"},
		{"lab", "lab test/vm", "test-engine test-fresh test-web setup-cluster test-cluster"},
		{"test/vm", "test/vm vm/vlab", "test-engine test-fresh test-web setup-cluster test-cluster"},
	} {
		v := Verified{"nines.dev/nines/test": digests[0]}
		for _, u := range units {
			if u.Name != c.changed && u.Folder() != c.changed {
				v[u.Name] = u.Digest
			}
		}
		chosen := Selected(units, v)
		for _, u := range units {
			name := u.Folder()
			if name == "" {
				name = u.Name
			}
			want := u.Always || (name == c.selected || slices.Contains(strings.Fields(c.selected), name))
			if chosen[u.Name] != want {
				t.Errorf("%q changed: %s is selected: %v", c.changed, u.Name, chosen[u.Name])
			}
		}
		if got := strings.Join(Idle(units, chosen), " "); got != strings.ReplaceAll(c.idle, "make ", "") {
			t.Errorf("%q changed: %s are left out", c.changed, got)
		}
	}
}

// Of go.mod a package's tests depend on the lines of what they import, and if that is of others on all indirect ones.
func TestOnlyImportedModulesCount(t *testing.T) {
	m := Tree{"go.mod": NewFile([]byte(`module nines.dev/x

go 1.26

require (
	example.org/a v1.0.0
	example.org/b/v2 v2.1.0
	example.org/c v0.1.0 // indirect
)

replace example.org/c => ../c
`), 0o644)}.modules()[0]
	for imports, want := range map[string]string{
		"fmt":                    "go 1.26|replace example.org/c => ../c",
		"example.org/a/sub":      "example.org/a v1.0.0|example.org/c v0.1.0 // indirect|go 1.26|replace example.org/c => ../c",
		"fmt example.org/b/v2/x": "example.org/b/v2 v2.1.0|example.org/c v0.1.0 // indirect|go 1.26|replace example.org/c => ../c",
	} {
		if got := strings.Join(m.lines(strings.Fields(imports)), "|"); got != want {
			t.Errorf("%s: %s", imports, got)
		}
	}
}
