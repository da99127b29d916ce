package labs

import (
	"fmt"
	"strings"
)

// Star is a lab of nodes n1, n2, … with one interface each on one link.
func Star(kind string, nodes, mtu int) string {
	var names, endpoints []string
	for i := 1; i <= nodes; i++ {
		names = append(names, fmt.Sprintf("    n%d: {runtime: netns}\n", i))
		endpoints = append(endpoints, fmt.Sprintf(`"n%d:eth"`, i))
	}
	return fmt.Sprintf("name: tbstar\ntopology:\n  nodes:\n%s  links:\n    - {name: lan, kind: %s, mtu: %d, endpoints: [%s]}\n",
		strings.Join(names, ""), kind, mtu, strings.Join(endpoints, ", "))
}

// OVSStar is Star without hugepages, for kinds that could use them.
func OVSStar(kind string, nodes, mtu int) string {
	return Star(kind, nodes, mtu) + "dpdk: {hugepages: none}\n"
}
