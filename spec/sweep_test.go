package spec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// checkRuns compares the runs' names, in order.
func checkRuns(t *testing.T, f *File, want ...string) []Run {
	t.Helper()
	runs, err := f.Runs()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, run := range runs {
		got = append(got, run.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the runs differ (-want +got):\n%s", diff)
	}
	return runs
}

const sweepLab = `
name: lab
topology:
  nodes:
    a: {memory: 64MiB}
    b: {app: {kind: reflect}}
  links:
    - {name: wire, endpoints: ["a:eth0", "b:eth0"]}
traffic: {from: "a:eth0", to: "a:eth0", rate_pps: 1000}
sweep:
`

// The first key is the outermost loop, and each value reaches its run.
func TestSweepOrder(t *testing.T) {
	f := mustLoad(t, sweepLab+"  links.*.kind: [xdp, veth]\n  traffic.rate_pps: [1k, 2000]\n")
	runs := checkRuns(t, f,
		"links.*.kind=xdp, traffic.rate_pps=1k", "links.*.kind=xdp, traffic.rate_pps=2000",
		"links.*.kind=veth, traffic.rate_pps=1k", "links.*.kind=veth, traffic.rate_pps=2000")
	for i, run := range runs {
		kind, rate := []LinkKind{LinkXDP, LinkXDP, LinkVeth, LinkVeth}[i], []float64{1000, 2000}[i%2]
		if run.Experiment.Topology.Links[0].Kind != kind || run.Experiment.Traffic.RatePPS != rate {
			t.Errorf("run %d: %s at %v", i, run.Experiment.Topology.Links[0].Kind, run.Experiment.Traffic.RatePPS)
		}
		want := map[string]any{"links.*.kind": string(kind), "traffic.rate_pps": rate}
		if diff := cmp.Diff(want, run.VariableMap()); diff != "" {
			t.Errorf("run %d: the variables differ (-want +got):\n%s", i, diff)
		}
	}
}

// A change to one run's experiment does not show in another's.
func TestRunsAreApart(t *testing.T) {
	runs, err := mustLoad(t, sweepLab+"  traffic.burst: [1, 2]\n").Runs()
	if err != nil {
		t.Fatal(err)
	}
	runs[0].Experiment.Topology.Nodes["a"].Memory = 1
	runs[0].Experiment.Topology.Links[0].Endpoints[0] = "x:y"
	if e := runs[1].Experiment; e.Topology.Nodes["a"].Memory == 1 || e.Topology.Links[0].Endpoints[0] == "x:y" {
		t.Error("the second run changed with the first")
	}
}

// Values of every type become variables.
func TestSweepValues(t *testing.T) {
	for _, c := range []struct {
		line string
		want any
		text string
	}{
		{"traffic.burst: [16]", 16, "16"},
		{"traffic.rate_pps: [1.5M]", 1.5e6, "1.5M"},
		{"traffic.duration: [1500ms]", "1.5s", "1.5s"},
		{"nodes.a.memory: [1GiB]", "1GiB", "1GiB"},
		{"nodes.a.memory_node: [0]", 0, "0"},
		{"nodes.a.env.X: [1]", "1", "1"},
		{"nodes.b.app: [{kind: reflect, io: batch}]", map[string]any{"kind": "reflect", "io": "batch"}, `{"io":"batch","kind":"reflect"}`},
		{"nodes.a: [{}]", map[string]any{}, "{}"},
		{"links.0.endpoints: [[\"a:x\", \"b:y\"]]\n  traffic.from: [\"a:x\"]\n  traffic.to: [\"a:x\"]", []any{"a:x", "b:y"}, `["a:x","b:y"]`},
	} {
		runs, err := mustLoad(t, sweepLab+"  "+c.line+"\n").Runs()
		if err != nil {
			t.Errorf("%s: %v", c.line, err)
			continue
		}
		v := runs[0].Variables[0]
		if diff := cmp.Diff(c.want, v.Value); diff != "" || v.Text != c.text {
			t.Errorf("%s: the value differs, or the text %q (-want +got):\n%s", c.line, v.Text, diff)
		}
	}
}

// A large lab allows fewer runs, so that memory stays bounded.
func TestSweepIsBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("name: lab\ntopology:\n  nodes:\n")
	for i := range 4000 {
		fmt.Fprintf(&b, "    n%d: {cpus: 1, env: {A: 1}}\n", i)
	}
	b.WriteString("sweep:\n  nodes.n0.memory: [" + strings.Repeat("5MiB, ", 999) + "5MiB]\n")
	_, err := mustLoad(t, b.String()).Runs()
	if err == nil || !strings.Contains(err.Error(), "makes 1000 runs") {
		t.Errorf("got %v", err)
	}
}

// A lab of a thousand nodes is read and checked.
func TestLargeLab(t *testing.T) {
	var b strings.Builder
	b.WriteString("name: lab\ntopology:\n  nodes:\n")
	for i := range 1000 {
		fmt.Fprintf(&b, "    n%d:\n", i)
	}
	b.WriteString("  links:\n")
	for i := range 1000 {
		fmt.Fprintf(&b, "    - endpoints: [\"n%d:right\", \"n%d:left\"]\n", i, (i+1)%1000)
	}
	e, err := mustLoad(t, b.String()).Experiment()
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Topology.Nodes) != 1000 || len(e.Topology.Links) != 1000 || e.Topology.Links[999].Name != "link1000" {
		t.Errorf("%d nodes, %d links", len(e.Topology.Nodes), len(e.Topology.Links))
	}
}
