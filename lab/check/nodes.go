package check

import (
	"fmt"
	"strings"

	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/lab/node"
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
func Node(l *running.Lab, n plan.Node, endings *proc.Endings) *Fault {
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
	case r != nil && !n.Remote():
		if ending := Ending(l, n, endings); ending != "" {
			fault.Problem += ": " + ending
		}
	}
	if again {
		fault.Remedy = RestartNode
	}
	return &fault
}

// Ending is how a node's first process ended, as far as its keeper or the kernel knows, and what it printed last; empty if
// nothing is known.
func Ending(l *running.Lab, n plan.Node, endings *proc.Endings) string {
	r := l.Running(n.Name)
	if r == nil || n.Remote() {
		return ""
	}
	place := l.Place("")
	ending := endingIn(l, n, r.Main(n), endings)
	if kept := place.Ending(n); kept != "" {
		ending = strings.TrimSuffix(kept+"; "+ending, "; ")
	}
	if log := place.OutputLog(n); log != "" {
		if said := node.LastLines(log); said != "" {
			ending = strings.TrimPrefix(ending+"; its last output was: "+said, "; ")
		}
	}
	return ending
}

// endingIn is what ended a process of a node, as far as the kernel still knows.
func endingIn(l *running.Lab, n plan.Node, id proc.Identity, endings *proc.Endings) string {
	var ending string
	if id.PID != 0 {
		ending = endings.Of(id)
	}
	if kills := isolate.MemoryKills(l.Plan(), n); kills > 0 && !strings.Contains(ending, "Killed process") {
		said := fmt.Sprintf("the kernel has killed %d of the processes in the node's control group, as memory had run out", kills)
		ending = strings.TrimPrefix(ending+"; "+said, "; ")
	}
	return ending
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
