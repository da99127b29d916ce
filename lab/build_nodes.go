package lab

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/lab/running"

	"nines.dev/nines/journal"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/plan"
)

func (b *builder) startFabric() error {
	if err := b.directory(netns.Dir); err != nil {
		return err
	}
	hostName := b.Plan().FabricName()
	fabric, err := b.place().StartNetns(running.FabricNode, hostName, node.Unwalled)
	if err != nil {
		return err
	}
	b.SetFabric(fabric)
	if err := b.nameNamespace(running.FabricNode, hostName, node.Network{Identity: fabric.Identity}.Path()); err != nil {
		return err
	}
	return b.fresh.Begin(link.HolderOf(fabric))
}

// directory makes a directory on the host that others may use too.
func (b *builder) directory(path string) error {
	if inode, err := journal.Inode(path); inode != 0 || err != nil {
		return err
	}
	return b.journal.Make(journal.Step{Kind: journal.KindDirectory, Path: path}, func() (journal.Learnt, error) {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return journal.Learnt{}, err
		}
		return journal.Learn(path)
	})
}

// nameNamespace lets `ip netns exec HOSTNAME` find a node's namespace.
func (b *builder) nameNamespace(nodeName, hostName, namespace string) error {
	step := journal.Step{
		Kind: journal.KindSymlink, Node: nodeName,
		Path: filepath.Join(netns.Dir, hostName), Target: namespace,
	}
	inode, err := journal.Inode(step.Path)
	if err != nil {
		return err
	}
	if inode != 0 {
		return taken(step.Path, b.Plan().Prefix)
	}
	return b.journal.Make(step, func() (journal.Learnt, error) {
		if err := os.Symlink(step.Target, step.Path); err != nil {
			return journal.Learnt{}, err
		}
		return journal.Learn(step.Path)
	})
}

// startNodes makes the networks of new nodes, and starts the nodes that do not wait for them to stand.
func (b *builder) startNodes(ctx context.Context, w work) error {
	if len(w.nodes) == 0 {
		return nil
	}
	place := b.place()
	if err := place.Groups.Prepare(ctx); err != nil {
		return err
	}
	err := node.Each(ctx, len(w.nodes), func(i int) error {
		if n := w.nodes[i]; n.Runtime.Descriptor().Restarts() && !w.again[n.Name] {
			return b.holdNetwork(place, n)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return b.start(ctx, place, slices.DeleteFunc(slices.Clone(w.nodes), node.Waits), w)
}

// startWaiting starts the nodes that wait until their networks stand.
func (b *builder) startWaiting(ctx context.Context, w work) error {
	waiting := slices.DeleteFunc(slices.Clone(w.nodes), func(n plan.Node) bool { return !node.Waits(n) })
	if len(waiting) == 0 {
		return nil
	}
	if err := b.start(ctx, b.place(), waiting, w); err != nil {
		return err
	}
	// Once more: systemd-sysctl(8) has written others, and the sysctls of the ipc namespace were not there before.
	return node.Each(ctx, len(waiting), func(i int) error { return b.sysctls(waiting[i]) })
}

// start starts nodes, and completes the lab's isolation.
func (b *builder) start(ctx context.Context, place node.Place, nodes []plan.Node, w work) error {
	started := make([]*node.Running, len(nodes))
	err := node.Each(ctx, len(nodes), func(i int) error {
		r, err := b.startNode(ctx, place, nodes[i], w)
		if r != nil {
			started[i] = r
			if w.again[r.Name] {
				r.Marks = b.Running(r.Name).Marks
				r.Unfinished = true
			}
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, r := range started {
		b.SetRunning(r)
	}
	return b.settleGroups(ctx, place.Groups)
}

// holdNetwork makes the network of a node whose runtime restarts: all that runs in the node joins it.
func (b *builder) holdNetwork(place node.Place, n plan.Node) error {
	network, err := place.HoldNetwork(n.Name, n.HostName)
	if err != nil {
		return err
	}
	if err := b.nameNamespace(n.Name, n.HostName, network.Path()); err != nil {
		return err
	}
	b.SetRunning(&node.Running{Name: n.Name, Network: network})
	return b.fresh.Begin(link.Holder{PID: network.PID, Step: network.Step})
}

// startNode starts a node. Where its runtime restarts, it joins the network that is there.
func (b *builder) startNode(ctx context.Context, place node.Place, n plan.Node, w work) (*node.Running, error) {
	n, err := b.withDevices(ctx, n)
	if err != nil {
		return nil, err
	}
	if n.Runtime.Descriptor().Restarts() {
		network := b.Running(n.Name).Network
		place.Network, place.Again = &network, w.again[n.Name] && !w.fresh[n.Name]
		return node.RuntimeOf(n).Start(ctx, place, n)
	}
	r, err := node.RuntimeOf(n).Start(ctx, place, n)
	if err != nil {
		return nil, err
	}
	if n.Remote() { // its namespace here has nothing in it
		return r, nil
	}
	if err := b.nameNamespace(n.Name, n.HostName, node.Network{Identity: r.Identity}.Path()); err != nil {
		return nil, err
	}
	return r, b.fresh.Begin(link.HolderOf(r))
}
