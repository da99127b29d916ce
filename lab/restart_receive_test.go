package lab

import (
	"context"
	"fmt"
	"testing"

	"nines.dev/nines/lab/receive"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// TestARestartedNodeIsReceivedAsBefore: the receive modes of a node are in force again after its
// restart, and after that of the node at the other end.
func TestARestartedNodeIsReceivedAsBefore(t *testing.T) {
	labtest.Root(t)
	for _, way := range []spec.Receive{spec.ReceiveBusyPoll, spec.ReceiveThreaded, spec.ReceiveSuspend, spec.ReceiveAwake} {
		t.Run(string(way), func(t *testing.T) {
			labs.NeedReceive(t, way)
			lab := up(t, fmt.Sprintf(`
name: tbrerx
topology:
  nodes:
    load: {}
    dut: {rx: %s}
  links:
    - {name: a, endpoints: ["load:a", "dut:in"]}
`, way))
			before, err := receive.States(lab.Lab)
			if err != nil || len(before) != 1 {
				t.Fatalf("received by %+v, %v", before, err)
			}
			for _, node := range []string{"dut", "load", "dut"} {
				if err := lab.Restart(context.Background(), []string{node}, RestartOptions{}); err != nil {
					t.Fatal(err)
				}
				now, err := receive.States(lab.Lab)
				if err != nil || len(now) != 1 {
					t.Fatalf("received by %+v, %v", now, err)
				}
				if now[0].Problem != "" || now[0].RX != way || now[0].Mechanism != before[0].Mechanism || len(now[0].Threads) != len(before[0].Threads) {
					t.Errorf("after a restart of %s dut is received by %+v, and before by %+v", node, now[0], before[0])
				}
				if faults, err := lab.Faults(); err != nil || len(faults) > 0 {
					t.Errorf("after a restart of %s: %v, %v", node, faults, err)
				}
				for _, neighbour := range lab.Plan().Node("load").Interfaces[0].Neighbours {
					in(t, lab, "load", "ping", "-c1", "-W5", neighbour.IP)
				}
			}
			if err := lab.Down(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}
