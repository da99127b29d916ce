package node

import (
	"context"

	"golang.org/x/sys/unix"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/plan"
)

// tokenVariable is in the environment of every process of a host node.
const tokenVariable = "NINES_NODE"

// KindHostNode is the first process of a node without a pid namespace: all other processes with
// Token in their environment are killed with it.
var KindHostNode = process.Register("host_node", process.Traits{More: true})

// hostRuntime starts nodes that are not containers: nines-init holds a network namespace for the
// lab's interfaces, and processes of the node share everything else with the host. There is no pid
// namespace that would end with the node, so a token in their environment identifies the node's
// processes. A process that removes it, as with env -i, stays until it ends by itself, and nines
// down says so.
type hostRuntime struct{ Process }

func (hostRuntime) StartStep(plan.Node) string {
	return "start nines-init, which only holds a network namespace"
}

func (hostRuntime) Start(_ context.Context, p Place, n plan.Node) (*Running, error) {
	step := journal.Step{Kind: KindHostNode, Node: n.Name, Name: n.HostName, Token: p.Journal.Token(n.Name)}
	return p.startInit(step, unix.CLONE_NEWNET, "host")
}
