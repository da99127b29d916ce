package node

import (
	"golang.org/x/sys/unix"

	"nines.dev/nines/journal"
)

// tokenVariable is what everything in a host node has in its environment.
const tokenVariable = "NINES_NODE"

// StartHost starts the node that is no container: nines-init holds a network namespace
// for the lab's interfaces, and what is started in the node shares all else with the
// host. There is no pid namespace that would end with the node, so that its processes
// are known by a token in their environment; one that takes it away, env -i, stays until
// it ends by itself, and nines down says so.
func (p Place) StartHost(name, hostName string) (*Running, error) {
	step := journal.Step{Kind: journal.KindHostNode, Node: name, Name: hostName, Token: p.Journal.Token(name)}
	return p.startInit(step, unix.CLONE_NEWNET, "host")
}
