package plan

import "net/netip"

// managementNumbers are the numbers of the nodes' addresses on a management network, in the order of its ends: those of
// the running lab, and the first free ones for new nodes.
func (w *work) managementNumbers(m *management) []int {
	first := numberIn(m.subnet, m.first)
	last := first + m.room - 1
	had := make([]int, len(m.ends))
	for i, e := range m.ends {
		if a := w.before.address(e, m.subnet); a.IsValid() {
			had[i] = numberIn(m.subnet, a)
		}
	}
	return keptNumbers(had, first, last)
}

// powerPorts are the ports of the nodes that are switched by IPMI, as managementNumbers.
func (w *work) powerPorts(first int) map[string]int {
	running := map[string]int{}
	if p := w.before.plan.Power; p != nil {
		for _, n := range p.Nodes {
			running[n.Name] = n.Port
		}
	}
	var names []string
	var had []int
	for _, n := range w.nodes {
		if n.spec.Runtime.Descriptor().Restarts() {
			names, had = append(names, n.name), append(had, running[n.name])
		}
	}
	ports := map[string]int{}
	for i, port := range keptNumbers(had, first, first+len(had)+len(running)-1) {
		ports[names[i]] = port
	}
	return ports
}

// keptNumbers gives each a number of a range: the one that it had, or the first that is free.
func keptNumbers(had []int, first, last int) []int {
	numbers, taken := make([]int, len(had)), map[int]bool{}
	for i, number := range had {
		if number >= first && number <= last && !taken[number] {
			numbers[i], taken[number] = number, true
		}
	}
	next := first
	for i, number := range numbers {
		if number != 0 {
			continue
		}
		for taken[next] {
			next++
		}
		numbers[i], taken[next] = next, true
	}
	return numbers
}

// numberIn is the number of an address in its subnet.
func numberIn(subnet netip.Prefix, a netip.Addr) int {
	return int(numberOf(a) - numberOf(subnet.Addr()))
}
