package node

import (
	"fmt"

	"golang.org/x/sys/unix"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/plan"
)

// holdNetwork starts nines-init as the holder of a network namespace that belongs to the lab, and
// not to the container, which joins it: the path is that of the namespace.
func (p Place) holdNetwork(n plan.Node) (string, error) {
	step := journal.Step{Kind: process.Kind, Node: n.Name, Name: n.HostName, Token: p.Journal.Token("network/" + n.Name)}
	holder, err := p.startInit(step, unix.CLONE_NEWNET, "host")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("/proc/%d/ns/net", holder.PID), nil
}
