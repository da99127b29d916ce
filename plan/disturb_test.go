package plan

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/spec"
)

func number(n int) *int { return &n }

// On the microVM the forwarder has CPU 1, and the generator is with the host on CPU 0.
func TestDisturbancesAreAimed(t *testing.T) {
	for _, c := range []struct {
		name string
		d    spec.Disturbance
		want Disturbance
	}{
		{"a node's CPU, from another", spec.Disturbance{Kind: spec.DisturbSoftirq, Node: "dut"}, Disturbance{CPU: 1, From: 0, Why: "the CPU of node dut"}},
		{"a node's CPU, on it", spec.Disturbance{Kind: spec.DisturbSpin, Node: "gen"}, Disturbance{CPU: 0, From: -1, Why: "the CPU of node gen"}},
		{"a CPU of the host's", spec.Disturbance{Kind: spec.DisturbTLB, CPU: number(0)}, Disturbance{CPU: 0, From: -1, Why: "named by cpu"}},
		{"wherever", spec.Disturbance{Kind: spec.DisturbFork}, Disturbance{CPU: -1, From: -1, Why: "wherever the kernel puts it"}},
		{"an engine", spec.Disturbance{Kind: spec.DisturbStop, Node: "dut"}, Disturbance{CPU: -1, From: -1, Node: "dut", Why: "the engine of node dut"}},
	} {
		e := two()
		e.Disturb = map[string]*spec.Disturbance{"it": &c.d}
		p, err := Make(e, loadHost(t, "microvm"))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		c.want.Name, c.want.Kind = "it", c.d.Kind
		if diff := cmp.Diff([]Disturbance{c.want}, p.Disturbances); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		var text strings.Builder
		if err := p.Write(&text); err != nil || !strings.Contains(text.String(), c.want.Where()) {
			t.Errorf("%s: %v, the table does not say %q:\n%s", c.name, err, c.want.Where(), text.String())
		}
	}
}

// A disturbance is not put on a CPU that isolation protects from it.
func TestDisturbancesThatCannotBe(t *testing.T) {
	for _, c := range []struct {
		name   string
		d      spec.Disturbance
		degree spec.Isolation
		want   string
	}{
		{"no such CPU", spec.Disturbance{Kind: spec.DisturbSpin, CPU: number(7)}, spec.IsolationAffinity, "disturb.it: disturb CPU 7; this process may use 0-1"},
		{"a thread on an isolated CPU", spec.Disturbance{Kind: spec.DisturbSpin, Node: "dut"}, spec.IsolationIsolated, "disturb.it: CPU 1 is isolated"},
		{"a softirq on an isolated CPU", spec.Disturbance{Kind: spec.DisturbSoftirq, Node: "dut"}, spec.IsolationIsolated, ""},
	} {
		e := two()
		e.Isolation, e.Disturb = c.degree, map[string]*spec.Disturbance{"it": &c.d}
		_, err := Make(e, loadHost(t, "microvm"))
		var coded interface{ ExitCode() int }
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.want != "" && (!errors.As(err, &coded) || !strings.HasPrefix(err.Error(), c.want)):
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
