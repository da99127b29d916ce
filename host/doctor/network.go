package doctor

import (
	"fmt"
	"slices"

	"nines.dev/nines/host"
)

var network = subject{"network", (*judge).network, []findingKind{
	{"nic-far-NIC", "a card is on another NUMA node", "1.7 µs for each crossing"},
	{"nics-apart", "the cards are on two NUMA nodes", "a packet from one to the other crosses"},
	{"coalescing-NIC", "a card collects packets before it interrupts", "a packet waits for the configured time"},
	{"pcie-aspm", "the card's PCIe link may sleep", "up to 64 µs to wake"},
}}

// network looks at the network cards: the experiment's, or all that are up.
func (j *judge) network() {
	var cards []host.NIC
	for _, nic := range j.inv.NICs {
		if nic.Virtual || nic.PCIAddress == "" || nic.Wireless {
			continue
		}
		if len(j.scope.NICs) == 0 && nic.State == "up" || slices.Contains(j.scope.NICs, nic.Name) {
			cards = append(cards, nic)
		}
	}
	j.placement(cards)
	for _, nic := range cards {
		j.moderation(nic)
	}
	j.linkSleep(cards)
}

// placement judges cards that are far from the chosen CPUs, or from each other.
func (j *judge) placement(cards []host.NIC) {
	if len(j.inv.NUMANodes) < 2 {
		return
	}
	cpuNodes := map[int]bool{}
	for _, cpu := range j.chosen() {
		cpuNodes[cpu.NUMANode] = true
	}
	nodes := map[int]string{} // the first card of each node
	for _, nic := range cards {
		if nic.NUMANode < 0 {
			continue
		}
		if nodes[nic.NUMANode] == "" {
			nodes[nic.NUMANode] = nic.Name
		}
		if cpuNodes[nic.NUMANode] {
			continue
		}
		near := j.near(nic.NUMANode)
		j.find(Finding{
			ID: "nic-far-" + nic.Name, Severity: host.SeverityWarning,
			Title:    fmt.Sprintf("%s is on NUMA node %d, and none of the chosen CPUs is", nic.Name, nic.NUMANode),
			Evidence: []Evidence{{"/sys/bus/pci/devices/" + nic.PCIAddress + "/numa_node", fmt.Sprint(nic.NUMANode)}, {"chosen CPUs", list(j.scope.CPUs)}},
			Why:      "Each packet and each descriptor crosses from one node's memory to the other's CPU.",
			Cost:     &Cost{FromUS: numaUS, ToUS: numaUS, When: "at each packet, each way", Basis: BasisPublished, Source: numaSource},
			Remedies: []Remedy{{Text: fmt.Sprintf("use CPUs of node %d (%s): memory_node: %d in the node that uses the card", nic.NUMANode, near, nic.NUMANode)}},
			Source:   numaSource,
		})
	}
	if len(nodes) < 2 {
		return
	}
	var where []Evidence
	var names []int
	for node := range nodes {
		names = append(names, node)
	}
	slices.Sort(names)
	for _, nic := range cards {
		if nic.NUMANode >= 0 {
			where = append(where, Evidence{"/sys/bus/pci/devices/" + nic.PCIAddress + "/numa_node", fmt.Sprintf("%d (%s)", nic.NUMANode, nic.Name)})
		}
	}
	j.find(Finding{
		ID: "nics-apart", Severity: host.SeverityWarning,
		Title:    fmt.Sprintf("network cards are on different NUMA nodes (%s)", list(names)),
		Evidence: where,
		Why:      "A packet that arrives on one and leaves on the other crosses between nodes at least once, wherever its CPU is.",
		Cost:     &Cost{FromUS: numaUS, ToUS: numaUS, When: "at each packet that goes from one card to the other", Basis: BasisPublished, Source: numaSource},
		Remedies: []Remedy{{Text: "put both cards into slots of one node, or use two ports of one card; the board's manual shows the node of each slot"}},
		Source:   thesis + ", 6.2.1: the ingress card was on node 1, the egress card on node 3",
	})
}

// near lists a node's usable CPUs.
func (j *judge) near(node int) string {
	var cpus []int
	for _, cpu := range j.inv.CPUs {
		if cpu.Online && cpu.NUMANode == node {
			cpus = append(cpus, cpu.ID)
		}
	}
	if len(cpus) == 0 {
		return "it has none online"
	}
	return namedCPUs(cpus)
}

// moderation judges a card that delays its interrupt to wait for more packets.
func (j *judge) moderation(nic host.NIC) {
	c := nic.Coalescing
	if c == nil || c.RxUS == 0 && !c.Adaptive {
		return
	}
	severity := host.SeverityNote
	if c.RxUS >= 10 || c.Adaptive {
		severity = host.SeverityWarning
	}
	what := fmt.Sprintf("rx-usecs %d", c.RxUS)
	cost := &Cost{FromUS: 0, ToUS: float64(c.RxUS), When: "at each packet that comes by an interrupt; not with DPDK", Basis: BasisHost, Source: "the card's own setting"}
	if c.Adaptive {
		what += ", adaptive"
		cost.ToUS, cost.Basis = max(float64(c.RxUS), 100), BasisEstimate
		cost.Source = "the card's own setting, and what drivers choose under load (lib/dim/net_dim.c: up to 256 µs)"
	}
	j.find(Finding{
		ID: "coalescing-" + nic.Name, Severity: severity,
		Title:    nic.Name + " collects packets before it interrupts (" + what + ")",
		Evidence: []Evidence{{"ethtool -c " + nic.Name, what}},
		Why:      "The card holds a packet until the time is over, or enough packets have arrived.",
		Cost:     cost,
		Remedies: []Remedy{{Text: "interrupt at once; this uses more CPU at high rates", Commands: []string{fmt.Sprintf("ethtool -C %s adaptive-rx off rx-usecs 0", nic.Name)}}},
		Source:   "ethtool(8); Documentation/networking/ethtool-netlink.rst",
	})
}

// linkSleep judges PCIe links that may sleep between packets.
func (j *judge) linkSleep(cards []host.NIC) {
	const path = "/sys/module/pcie_aspm/parameters/policy"
	policy, known := j.setting(path)
	var evidence []Evidence
	var asleep []string
	for _, nic := range cards {
		if nic.SleepsL1 {
			asleep = append(asleep, nic.Name)
			evidence = append(evidence, Evidence{"/sys/bus/pci/devices/" + nic.PCIAddress + "/link/l1_aspm", "1 (" + nic.Name + ")"})
		}
	}
	saving := policy == "powersave" || policy == "powersupersave"
	if len(asleep) == 0 && !saving || policy == "performance" {
		return
	}
	if known {
		evidence = append(evidence, Evidence{path, policy})
	}
	if len(cards) == 0 {
		return
	}
	j.find(Finding{
		ID: "pcie-aspm", Severity: host.SeverityWarning,
		Title:    "PCIe links of network cards may sleep between packets",
		Evidence: evidence,
		Why:      "A link in L1 has to wake before a packet's data can cross it.",
		Cost:     &Cost{FromUS: 2, ToUS: 64, When: "at a packet after a pause", Basis: BasisPublished, Source: "PCI Express Base Specification, Link Capabilities register: an L1 exit latency from 1 to 64 µs; include/uapi/linux/pci_regs.h, PCI_EXP_LNKCAP_L1EL"},
		Remedies: append(j.write("keep links awake", path, "performance"), j.boot("if the firmware keeps control of it", "pcie_aspm=off")),
		Source:   kernelParameters + " (pcie_aspm); drivers/pci/pcie/aspm.c",
	})
}
