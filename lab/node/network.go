package node

import (
	"fmt"

	"golang.org/x/sys/unix"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/kernel/proc"
)

// KindNetwork is the process that holds a network namespace for the lab: a node's, or one of a link.
var KindNetwork = process.Register("network", process.Traits{})

// Network is the network namespace of a node whose runtime restarts: it belongs to the lab, and
// whatever runs in the node joins it. A pair of veth devices ends with the namespace of either end,
// so the links of a node could not outlive its processes otherwise.
type Network struct {
	// Identity is the process that holds the namespace.
	proc.Identity
	// Step is the number of the journal's step that started it.
	Step int
}

// Path is the namespace as a file, for tools that join it: LXC by lxc.namespace.share.net, OCI
// runtimes by the path of a namespace, and ip-netns(8) by a link to it.
func (n Network) Path() string { return fmt.Sprintf("/proc/%d/ns/net", n.PID) }

// HoldNetwork makes a node's network namespace.
func (p Place) HoldNetwork(nodeName, hostName string) (Network, error) {
	return p.holdNetwork(journal.Step{Kind: KindNetwork, Node: nodeName, Name: hostName, Token: p.Journal.Token("network/" + nodeName)})
}

// HoldLinkNetwork makes a network namespace that belongs to a link, and ends with it. Its name is
// unique in the link.
func (p Place) HoldLinkNetwork(linkName, name string) (Network, error) {
	token := p.Journal.Token("link/" + linkName + "/network/" + name)
	return p.holdNetwork(journal.Step{Kind: KindNetwork, Link: linkName, Name: name, Token: token})
}

func (p Place) holdNetwork(step journal.Step) (Network, error) {
	r, err := p.startInit(step, unix.CLONE_NEWNET, "host")
	if err != nil {
		return Network{}, err
	}
	return Network{Identity: r.Identity, Step: r.Step}, nil
}

// inNetwork runs start in the network namespace that waits for the node; without one, as it is.
func (p Place) inNetwork(start func() error) error {
	if p.Network == nil {
		return start()
	}
	ns, err := netns.OfProcess(p.Network.PID)
	if err != nil {
		return err
	}
	defer ns.Close()
	return ns.Do(start)
}

// learnt is what the journal stores about a node's first process. It stores the network namespace
// with the process that holds it: when that is another, processes of others that are in the
// namespace stay there.
func (p Place) learnt(id proc.Identity) journal.Learnt {
	l := process.Learnt(id)
	if p.Network == nil {
		l.NetInode = id.NetInode()
	}
	return l
}
