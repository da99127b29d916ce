package node

import (
	"context"

	"golang.org/x/sys/unix"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/plan"
)

// tokenVariable is what everything in a host node has in its environment.
const tokenVariable = "NINES_NODE"

// KindHostNode is the first process of a node without a pid namespace that would take its
// processes along: all others that hold Token in their environment are killed with it.
var KindHostNode = process.Register("host_node", process.Traits{More: true})

// hostRuntime has nodes that are no containers: nines-init holds a network namespace for
// the lab's interfaces, and what is started in the node shares all else with the host.
// There is no pid namespace that would end with the node, so that its processes are known
// by a token in their environment; one that takes it away, env -i, stays until it ends by
// itself, and nines down says so.
type hostRuntime struct{ Process }

func (hostRuntime) StartStep(plan.Node) string {
	return "start nines-init, which holds a network namespace and nothing else"
}

func (hostRuntime) Start(_ context.Context, p Place, n plan.Node) (*Running, error) {
	step := journal.Step{Kind: KindHostNode, Node: n.Name, Name: n.HostName, Token: p.Journal.Token(n.Name)}
	return p.startInit(step, unix.CLONE_NEWNET, "host")
}
