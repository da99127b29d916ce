package spec

import (
	"errors"
	"testing"

	"nines.dev/nines/exit"
)

// about is an error about a key, like those of a plan.
type about []string

func (a about) Error() string { return "too much" }
func (a about) Key() []string { return a }

// both are several errors, as a plan returns them.
type both []error

func (b both) Error() string   { return "both" }
func (b both) Unwrap() []error { return b }
func (b both) ExitCode() int   { return 3 }

// An error about a key gets the place of the run's value for that key, or of the value around it.
func TestLocated(t *testing.T) {
	f := mustLoad(t, `name: lab
topology:
  nodes:
    a: {cpus: 2}
    b: {}
  links: [{endpoints: ["a:e", "b:e"]}]
sweep:
  nodes.b.cpus: [1, 200]
`)
	if err := f.Set("nodes.a.memory=900TiB"); err != nil {
		t.Fatal(err)
	}
	runs, err := f.Runs()
	if err != nil {
		t.Fatal(err)
	}
	other := errors.New("not about the file")
	for _, c := range []struct {
		err  error
		want string
	}{
		{about{"topology", "nodes", "a", "cpus"}, "lab.yaml:4:15: topology.nodes.a.cpus: too much"},
		{about{"topology", "nodes", "b", "cpus"}, "lab.yaml:8:21: topology.nodes.b.cpus: too much"},
		{about{"topology", "nodes", "a", "memory"}, "--set nodes.a.memory=900TiB: topology.nodes.a.memory: too much"},
		{about{"topology", "links", "0", "parent"}, "lab.yaml:6:11: topology.links.0: too much"},
		{about{"isolation"}, "lab.yaml:1:1: too much"},
		{both{about{"topology", "nodes", "a", "cpus"}, other}, "2 errors:\nlab.yaml:4:15: topology.nodes.a.cpus: too much\nnot about the file"},
		{both{about{"isolation"}, about{"topology", "nodes", "b", "cpus"}, about{"topology", "nodes", "a", "cpus"}},
			"3 errors:\nlab.yaml:1:1: too much\nlab.yaml:4:15: topology.nodes.a.cpus: too much\nlab.yaml:8:21: topology.nodes.b.cpus: too much"},
		{other, "not about the file"},
	} {
		got := runs[1].Located(c.err)
		if got.Error() != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
	if err := runs[1].Located(both{other, other}); exit.Code(err) != exit.Lacks {
		t.Error("several errors with places have lost their exit code")
	}
	if err := runs[0].Located(nil); err != nil {
		t.Errorf("no error became %v", err)
	}
}
