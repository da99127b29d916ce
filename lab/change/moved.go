package change

import (
	"slices"

	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// Nodes without CPUs of their own share those of the host, which are fewer once another node has some for itself. What
// runs in them is moved then, and stays.

// moved lists nodes that stay, and of which something moves to other CPUs.
func (d *differ) moved() {
	for _, n := range d.to.Nodes {
		if old := d.was.Node(n.Name); old != nil && !d.begins(n.Name) && len(Moves(*old, n)) > 0 {
			d.Moved = append(d.Moved, n.Name)
		}
	}
}

// Move is from the CPUs that threads have, to others.
type Move struct{ From, To []int }

// Moves are those of what runs in a node that stays.
func Moves(old, n plan.Node) []Move {
	var list []Move
	add := func(from, to []int) {
		same := func(m Move) bool { return slices.Equal(m.From, from) }
		if !slices.Equal(from, to) && len(to) > 0 && !slices.ContainsFunc(list, same) {
			list = append(list, Move{from, to})
		}
	}
	add(old.CPUs, n.CPUs)
	if old.VM != nil && n.VM != nil {
		add(old.VM.EmulatorCPUs, n.VM.EmulatorCPUs)
	}
	return list
}

// movable is an old node with the CPUs and memory nodes of a new one, where what runs in it can be moved to them: it
// has neither CPUs nor limits of its own, and nothing in it has these in a file.
func (d *differ) movable(old, n plan.Node) plan.Node {
	runtime := n.Runtime.Descriptor()
	switch {
	case !runtime.Restarts() || n.Rootfs != nil && n.Rootfs.Init == spec.InitSystemd:
		return old
	case old.VM != nil && n.VM != nil:
		vm := *old.VM
		vm.EmulatorCPUs = n.VM.EmulatorCPUs
		old.VM = &vm
	}
	if old.CPUsExclusive || n.CPUsExclusive || !slices.Equal(isolate.Controllers(d.from, old), isolate.Controllers(d.to, n)) {
		return old
	}
	old.CPUs, old.MemoryNodes = n.CPUs, n.MemoryNodes
	if old.VM != nil && n.VM != nil {
		old.VM.MemoryNode = n.VM.MemoryNode
	}
	return old
}
