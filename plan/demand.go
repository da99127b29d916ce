package plan

import (
	"fmt"
	"slices"

	"nines.dev/nines/host"
	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// demand is what a node wants of the host's CPUs.
type demand struct {
	count    int   // CPUs of its own; 0 shares the housekeeping CPUs
	list     []int // the CPUs by number, where the user names them
	explicit bool  // the user asked for them; if not, the plan may make the node share
	engine   bool  // it runs an engine
	program  bool  // it is a link's program
	end      bool  // it is an end of the traffic
	spin     bool  // its engine polls and never sleeps
	// memoryNode is the NUMA node that the user asks for; -1: any.
	memoryNode int
	// nic is the physical interface under one of its links; its CPUs should be near it.
	nic *host.NIC
}

// collectDemands collects what each node wants, and refuses what no host has.
func (w *work) collectDemands() error {
	listed := map[int]string{}
	for _, n := range w.users() {
		d := &n.demand
		d.memoryNode = -1
		if n.remote() {
			continue // of this host it wants nothing
		}
		d.program = n.link != nil
		if n.spec.MemoryNode != nil {
			d.memoryNode = *n.spec.MemoryNode
		}
		d.end = !d.program && w.stream != nil && (n == w.path[0].node || n == w.path[len(w.path)-1].node)
		d.engine = d.end || n.app().HasEngine()
		d.spin = d.engine && w.wait(n) == spec.WaitSpin || d.program && w.polls(n.link)
		d.nic = w.nearestNIC(n)
		if owner := n.pollsFor; owner != nil {
			d.spin = len(owner.received(spec.ReceiveBusyPoll)) > 0
			d.nic = w.nearestNIC(owner)
		}
		switch {
		case n.spec.CPUs < 0:
			w.refuse(at(&Conflict{n.title(), fmt.Sprintf("cpus is %d", n.spec.CPUs), "write 0 or more"}, n.steps("cpus")))
		case n.spec.CPUList != "" && n.spec.CPUs > 0:
			w.refuse(at(&Conflict{n.title(), "it has both cpus and cpu_list", "give one of them"}, n.steps("cpu_list")))
		case n.spec.CPUList != "":
			if err := w.demandList(n, listed); err != nil {
				w.refuse(at(err, n.steps("cpu_list")))
			}
		case d.program && n.spec.CPUs <= 1: // 1 is the default
			d.count = boolToInt(d.spin)
		case n.spec.CPUs > 0:
			d.count, d.explicit = n.spec.CPUs, true
		case d.engine:
			d.count = 1
		}
		if !d.program && n.pollsFor == nil {
			w.demandServices(n)
		}
		if d.memoryNode >= 0 && w.numaNode(d.memoryNode) == nil {
			w.refuse(at(&Impossible{fmt.Sprintf("node %s requests NUMA node %d", n.name, d.memoryNode),
				fmt.Sprintf("the host has %s", terminal.Count(len(w.inv.NUMANodes), "NUMA node")), "remove memory_node to let nines choose"}, n.steps("memory_node")))
			d.memoryNode = -1
		}
	}
	w.evenDemands()
	w.unpin()
	return w.refuseTooLarge()
}

// refuseTooLarge refuses each node's demand that the host could not meet even for this node alone.
func (w *work) refuseTooLarge() error {
	all, where := w.inv.MemoryBytes, ""
	for _, u := range w.inv.NUMANodes {
		all = max(all, u.MemoryTotalBytes)
	}
	if len(w.inv.NUMANodes) == 1 {
		where = " on NUMA " + numaText([]int{w.inv.NUMANodes[0].ID})
	}
	var greedy []*node
	usable := len(w.usable())
	for _, n := range w.users() {
		if limit := n.memoryLimit(); n.pollsFor == nil && limit > all {
			w.refuse(w.tooMuchMemory(n, where, limit, all))
		}
		if len(n.demand.list) == 0 && n.demand.explicit && n.demand.count > usable-1 {
			greedy = append(greedy, n)
		}
	}
	if len(greedy) > 1 {
		for _, n := range greedy {
			w.refuse(at(&Impossible{w.cpuDemand(n), w.cpusThere(n) + ", 1 is kept for housekeeping",
				fmt.Sprintf("request fewer, or let it share (--set %s.cpus=%d)", n.key(), boolToInt(n.demand.program))}, n.steps("cpus")))
		}
	} else if len(greedy) == 1 && len(w.refused) > 0 {
		return w.assignCPUs() // its error says how many it could have
	}
	return nil
}

// demandList takes a node's cpu_list if the host has these CPUs and no other node
// names them.
func (w *work) demandList(n *node, listed map[int]string) error {
	d := &n.demand
	list, err := cpulist.Parse(n.spec.CPUList)
	if err != nil {
		return &Conflict{n.title() + ": cpu_list", err.Error(), ""}
	}
	if len(list) == 0 {
		return &Conflict{n.title() + ": cpu_list", "it names no CPU", "remove it to let nines choose"}
	}
	for _, id := range list {
		if other, taken := listed[id]; taken {
			return &Conflict{n.title() + ": cpu_list", fmt.Sprintf("CPU %d is in the list of %s", id, other), "a CPU belongs to one node or switch"}
		}
		listed[id] = n.title()
		want := fmt.Sprintf("%s requests CPU %d", n.title(), id)
		cpu, err := w.inv.CPU(id)
		switch {
		case err != nil:
			return &Impossible{want, "the host has the CPUs " + cpulist.Format(w.usable()), "name others in cpu_list, or give cpus"}
		case !cpu.Online:
			return &Impossible{want, "that CPU is offline", fmt.Sprintf("echo 1 > /sys/devices/system/cpu/cpu%d/online", id)}
		case !slices.Contains(w.inv.AllowedCPUs, id):
			return &Impossible{want, "this process may only use " + cpulist.Format(w.usable()), "widen its cpuset or affinity (taskset -p)"}
		}
	}
	d.list, d.count, d.explicit = list, len(list), true
	return nil
}

// wait is how a node's engine waits for packets.
func (w *work) wait(n *node) spec.Wait {
	if n.spec.App != nil && n.spec.App.Wait != "" {
		return n.spec.App.Wait
	}
	if w.appBackend(n) == spec.BackendDPDK {
		return spec.WaitSpin
	}
	wait := spec.WaitBlock
	for _, c := range w.courses { // one thread serves both sides of a duet, and spins if one asks for it
		if wait != spec.WaitSpin {
			wait = c.stream.Wait
		}
	}
	return wait
}

// nearestNIC is the physical interface that a node should be near: the first on the traffic's path,
// as packets arrive there, else the first in the file.
func (w *work) nearestNIC(n *node) *host.NIC {
	for _, list := range [][]*endpoint{w.path, n.endpoints} {
		for _, e := range list {
			if e.node != n {
				continue
			}
			for _, nic := range []*host.NIC{w.pciNIC(e), w.parentNIC(e.link)} {
				if nic != nil && nic.NUMANode >= 0 {
					return nic
				}
			}
		}
	}
	return nil
}

// usable are the CPUs that are online and that this process may use, sorted.
func (w *work) usable() []int {
	list := []int{}
	for _, c := range w.inv.CPUs {
		if c.Online && slices.Contains(w.inv.AllowedCPUs, c.ID) {
			list = append(list, c.ID)
		}
	}
	return list
}

func (w *work) numaNode(id int) *host.NUMANode {
	i := slices.IndexFunc(w.inv.NUMANodes, func(u host.NUMANode) bool { return u.ID == id })
	if i < 0 {
		return nil
	}
	return &w.inv.NUMANodes[i]
}

// localDistance is the distance of a NUMA node to itself (ACPI 6.5, 5.2.17).
const localDistance = 10

// distance is how far apart two NUMA nodes are; where the host does not say, other nodes are twice
// as far as a node itself.
func (w *work) distance(a, b int) int {
	if a == b {
		return localDistance
	}
	from := w.numaNode(a)
	to := slices.IndexFunc(w.inv.NUMANodes, func(u host.NUMANode) bool { return u.ID == b })
	if from == nil || to < 0 || to >= len(from.Distances) {
		return 2 * localDistance
	}
	return from.Distances[to]
}
