package nodefit

import (
	"strconv"
	"strings"

	"nines.dev/nines/cluster/request"
)

// The labels of the thesis's discovery, and the tiers that they stand for.
const (
	LabelPorts = "dpdk"     // the number of ports that can be given to pods
	LabelOVS   = "ovs-dpdk" // "true" with a DPDK build of Open vSwitch
	// TierPort is such a port, TierOVS the switch, and TierDefault what every node has.
	TierPort    = "dpdk"
	TierOVS     = "ovs-dpdk"
	TierDefault = "default"
)

// portTier is the measured tier whose ports the label dpdk counts, beside the label's own name.
const portTier = "sriov"

// Ports reads the label dpdk. What is no number has no ports.
func Ports(labels map[string]string) int {
	ports, err := strconv.Atoi(strings.TrimSpace(labels[LabelPorts]))
	if err != nil || ports < 0 {
		return 0
	}
	return ports
}

// ByLabels holds the thesis's annotation against its labels and constants. The slowest tier that
// is fast enough is taken, and where the node lacks it the next better one.
func ByLabels(r *request.Request, n Node) Answer {
	answer := Answer{Node: n.Name, ByLabel: true, Miss: Unlabelled}
	answer.Evidence.Limit = r.Alternatives[0][0]
	switch {
	case r.ThesisUs >= request.ThesisDefaultUs:
		answer.Tier, answer.Met = TierDefault, true
	case r.ThesisUs >= request.ThesisOVSUs && n.Labels[LabelOVS] == "true":
		answer.Tier, answer.Met = TierOVS, true
	case r.ThesisUs >= request.ThesisPortUs && Ports(n.Labels) > 0:
		answer.Tier, answer.Met = TierPort, true
	}
	if answer.Met {
		answer.Miss = Held
		// The constant is all that is known of how much room there is.
		answer.Evidence.Tier, answer.Evidence.BoundNs = answer.Tier, thesisNs(answer.Tier)
	}
	return countPorts(answer, r, n)
}

// countPorts refuses a port where the node's ports are taken. A node without the label has no
// count to hold to.
func countPorts(answer Answer, r *request.Request, n Node) Answer {
	_, counted := n.Labels[LabelPorts]
	if !answer.Met || !counted || !IsPort(answer.Tier) {
		return answer
	}
	answer.TakesPorts = r.Ports
	if n.PortsTaken+r.Ports > Ports(n.Labels) {
		answer.Met, answer.Miss = false, NoPort
	}
	return answer
}

// IsPort reports whether the label dpdk counts ports of the tier.
func IsPort(tier string) bool { return tier == TierPort || tier == portTier }

func thesisNs(tier string) int64 {
	switch tier {
	case TierPort:
		return request.ThesisPortUs * 1000
	case TierOVS:
		return request.ThesisOVSUs * 1000
	}
	return request.ThesisDefaultUs * 1000
}
