package check

import (
	"fmt"

	"nines.dev/nines/lab/running"
	"nines.dev/nines/plan"
)

// DeadFabric is the fault of a lab whose fabric has ended.
func DeadFabric(l *running.Lab) Fault {
	return Fault{
		Of: "fabric", Part: "fabric", Problem: "the fabric is dead: its first process has ended, and with it the bridges and programs of links",
		Remedy: RemakeLab, Target: l.Name(),
	}
}

// Node is what is wrong with a node itself; nil for one that runs, and one that someone has
// stopped.
func Node(l *running.Lab, n plan.Node) *Fault {
	r := l.Running(n.Name)
	again := r != nil && r.Network.PID != 0 && r.Network.InNamespaces()
	fault := deadNode(n)
	switch {
	case r != nil && r.Network.PID != 0 && !again:
		fault.Problem = fmt.Sprintf("node %s is dead: the process that holds its network has ended", n.Name)
	case again && r.Unfinished:
		fault.Problem = fmt.Sprintf("node %s is being stopped or started, or that was interrupted; in that case nines restart %s finishes it", n.Name, n.Name)
	case l.Alive(n.Name), l.Stopped(n.Name):
		return nil
	}
	if again {
		fault.Remedy = RestartNode
	}
	return &fault
}

func deadNode(n plan.Node) Fault {
	what := "first process"
	if n.Remote() {
		what = "pod"
	}
	return Fault{
		Of: n.Name, Part: "node " + n.Name, Problem: fmt.Sprintf("node %s is dead: its %s has ended", n.Name, what),
		Remedy: RemakeNode, Target: n.Name,
	}
}
