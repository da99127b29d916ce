package lab

import (
	"context"
	"fmt"

	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/kernel/tasks"
	"nines.dev/nines/lab/change"
	"nines.dev/nines/lab/isolate"
)

// moveNodes moves what runs in nodes that stay to the CPUs that they have now. Threads that someone else has put on
// other CPUs stay there.
func (b *builder) moveNodes(_ context.Context, w work) error {
	if len(w.moved) == 0 {
		return nil
	}
	before := b.before.Index()
	moves := map[uint64][]change.Move{} // by the node's network namespace
	groups := b.groups()
	for _, n := range b.Plan().Nodes {
		if !w.moved[n.Name] || b.Running(n.Name) == nil {
			continue
		}
		id, _ := b.Running(n.Name).Holder()
		if space := id.NetInode(); space != 0 {
			moves[space] = change.Moves(*before.Node(n.Name), n)
		}
		if len(isolate.Controllers(b.Plan(), n)) > 0 {
			if err := groups.Lay(n); err != nil {
				return fmt.Errorf("node %q: %w", n.Name, err)
			}
		}
	}
	threads, err := tasks.All()
	if err != nil {
		return err
	}
	spaces := map[int]uint64{}
	for _, t := range threads {
		if t.Kernel {
			continue
		}
		space, known := spaces[t.Process]
		if !known {
			space = proc.Identity{PID: t.Process}.NetInode()
			spaces[t.Process] = space
		}
		for _, m := range moves[space] {
			if t.CPUs.Equal(m.From) {
				if err := t.Bind(m.To); err != nil {
					return err
				}
				break
			}
		}
	}
	return nil
}
