package plan

import (
	"testing"

	"nines.dev/nines/kernel/cpulist"
)

func TestTunedCPUsAreThoseOfNodesEnginesAndPrograms(t *testing.T) {
	p := &Plan{
		Nodes: []Node{
			{CPUs: []int{4, 5}, CPUsExclusive: true, App: &App{CPU: 5}},
			{CPUs: []int{0, 1, 2, 3}, App: &App{CPU: -1}},
		},
		Traffic: &Traffic{FromCPU: 2, ToCPU: -1},
		Links:   []Link{{Switch: &Switch{CPUs: []int{7}}}, {}},
	}
	if got := cpulist.Format(p.TunedCPUs()); got != "2,4-5,7" {
		t.Errorf("%s", got)
	}
}
