package reproduce

import (
	"fmt"
	"strings"

	"nines.dev/nines/host"
	"nines.dev/nines/terminal"
)

// Needs is what a host must have for a claim to be decidable there.
type Needs struct {
	// CPUs are those that nines may use.
	CPUs int `yaml:"cpus"`
	KVM  bool
	// Card is two ports of network cards with virtual functions, connected by a cable.
	Card bool
	// RealTime is a kernel with PREEMPT_RT.
	RealTime bool `yaml:"real_time"`
	// NUMANodes are those of the host.
	NUMANodes int `yaml:"numa_nodes"`
	// Programs are features of 'nines host', such as vpp and ovs-dpdk.
	Programs []string
	// Data is the folder of published measurements that NINES_PUBLISHED_DATA names.
	Data bool `yaml:"-"`
	// Boots says which boots are compared: one call sees one boot.
	Boots string
	// Cluster says which cluster of Kubernetes.
	Cluster string
	// Hardware says what else: no call of nines can tell whether it is there.
	Hardware string
}

// Host is what is known of a host.
type Host struct {
	Inventory *host.Inventory
	// Data is the folder of published measurements; empty: none.
	Data string
}

// need is one of the needs, in words, and what is there instead; empty where the host has it.
type need struct{ word, missing string }

func (n Needs) all(h Host) []need {
	var list []need
	add := func(has bool, word, missing string) {
		if has {
			missing = ""
		}
		list = append(list, need{word, missing})
	}
	if n.CPUs > 0 {
		cpus := len(h.Inventory.AllowedCPUs)
		add(cpus >= n.CPUs, terminal.Count(n.CPUs, "CPU"), fmt.Sprintf("it needs %s, and nines may use %d", terminal.Count(n.CPUs, "CPU"), cpus))
	}
	if n.KVM {
		f := h.Inventory.Feature(host.FeatureKVM)
		add(f.State == host.StateYes, "KVM", "it needs KVM: virtual machines are emulated here, and their times mean nothing")
	}
	if n.Card {
		add(cardPorts(h.Inventory) >= 2, "two card ports, cabled", "it needs two ports of network cards with virtual functions, connected by a cable")
	}
	if n.RealTime {
		add(h.Inventory.Kernel.RealTime, "a real-time kernel", "it needs a kernel with PREEMPT_RT")
	}
	if n.NUMANodes > 0 {
		nodes := len(h.Inventory.NUMANodes)
		add(nodes >= n.NUMANodes, terminal.Count(n.NUMANodes, "NUMA node"), fmt.Sprintf("it needs %s, and there is %d", terminal.Count(n.NUMANodes, "NUMA node"), nodes))
	}
	for _, program := range n.Programs {
		add(h.Inventory.Feature(program).State == host.StateYes, program, "it needs "+host.WayToGet(program))
	}
	if n.Data {
		add(h.Data != "", "the published data", "it needs the published data: set NINES_PUBLISHED_DATA to their folder (CONTRIBUTING.md)")
	}
	if n.Boots != "" {
		add(false, n.Boots, "it compares "+n.Boots+", and one call sees one boot")
	}
	if n.Cluster != "" {
		add(false, n.Cluster, "it needs "+n.Cluster)
	}
	if n.Hardware != "" {
		add(false, n.Hardware, "it needs "+n.Hardware)
	}
	return list
}

// cardPorts counts the physical functions that can have virtual ones.
func cardPorts(inv *host.Inventory) int {
	ports := 0
	for _, f := range inv.Functions {
		if f.TotalVFs > 0 {
			ports++
		}
	}
	return ports
}

// needs are those of the claim, with the one that follows from what it is judged by.
func (c Claim) needs() Needs {
	n := c.Needs
	n.Data = len(c.Data) > 0
	return n
}

// Missing says what the host lacks for the claim to be decidable, each with what is there instead; none: it can be
// decided.
func (c Claim) Missing(h Host) []string {
	var list []string
	if c.Open != "" {
		list = append(list, c.Open)
	}
	for _, one := range c.needs().all(h) {
		if one.missing != "" {
			list = append(list, one.missing)
		}
	}
	return list
}

// NeedsText are the needs of the claim in words; "nothing" without any.
func (c Claim) NeedsText(h Host) string {
	var words []string
	for _, one := range c.needs().all(h) {
		words = append(words, one.word)
	}
	if len(words) == 0 {
		return terminal.None
	}
	return strings.Join(words, ", ")
}
