package measure

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

// Tier is a path that packets of pods can take, and how it is measured.
type Tier struct {
	// Kind is the corresponding link kind of nines; the tier has its name.
	Kind spec.LinkKind
	// Polling is true if a program polls for packets, and so uses a CPU while it is measured.
	Polling bool
	// Card is the card whose virtual functions are measured, for a tier of functions. Offered chooses it.
	Card string
}

// Name returns the tier's name in the cluster.
func (t Tier) Name() string { return string(t.Kind) }

// AllTiers is the name that stands for all tiers.
const AllTiers = "all"

// Tiers returns the tiers with these names.
func Tiers(names []string) ([]Tier, error) {
	var tiers []Tier
	if len(names) == 1 && names[0] == AllTiers {
		names = nil
		for _, k := range measurable() {
			names = append(names, string(k))
		}
	}
	for _, name := range names {
		kind := spec.LinkKind(name)
		if !slices.Contains(measurable(), kind) {
			var known []string
			for _, k := range measurable() {
				known = append(known, string(k))
			}
			return nil, exit.Wrongf("tier %q is not a link kind that nines creates within a node; allowed: %s", name, strings.Join(known, ", "))
		}
		end := kind.Descriptor().DPDK
		tiers = append(tiers, Tier{Kind: kind, Polling: end == spec.DPDKVhost || end == spec.DPDKMemif})
	}
	return tiers, nil
}

// measurable returns the link kinds that nines creates within a node. It excludes the cluster's own network,
// whole cards, which a trial would take from the programs that use them, and kinds that only work with the
// node's hugepages.
func measurable() []spec.LinkKind {
	return slices.DeleteFunc(spec.LinkKinds(), func(k spec.LinkKind) bool {
		d := k.Descriptor()
		return d.Remote || d.End == spec.EndDevice || d.Program != nil && d.Program.HugepagesOnly
	})
}

// Offered returns the tiers whose requirements a host meets, and for the others why it does not. given are the
// cards whose functions are given to pods.
func Offered(inv *host.Inventory, tiers []Tier, given []string) (offered []Tier, missing map[string]string) {
	missing = map[string]string{}
	for _, t := range tiers {
		var lacks []string
		for _, need := range t.Kind.Descriptor().Needs {
			if state := inv.Feature(need).State; state == host.StateNo {
				lacks = append(lacks, need)
			}
		}
		if len(lacks) > 0 {
			missing[t.Name()] = "this node lacks " + strings.Join(lacks, ", ")
			continue
		}
		if t.Kind.Descriptor().End == spec.EndFunction {
			card, why := spareCard(inv, given)
			if card == "" {
				missing[t.Name()] = why
				continue
			}
			t.Card = card
		}
		offered = append(offered, t)
	}
	return offered, missing
}

// Load is what a trial sends.
type Load struct {
	RatePPS    int64
	FrameBytes int64
	Duration   time.Duration
}

// length returns how long nines sends for a trial: the trial itself, and the baselines of the sender alone
// before and after it, of at most a second each (baselineDuration in package measure of nines).
func (l Load) length() time.Duration {
	const baselines = 2
	return WarmUp + l.Duration + baselines*(min(WarmUp, time.Second)+min(l.Duration, time.Second))
}

// Packets returns how many packets a trial sends.
func (l Load) Packets() int64 { return int64(float64(l.RatePPS) * l.length().Seconds()) }

// CPU returns the maximum CPU time of a trial: a sender, a receiver, and a program that polls.
func (l Load) CPU(t Tier) time.Duration { return time.Duration(max(2, t.Spins())) * l.length() }

// Spins is how many threads of a trial use a CPU each for all of its time: those of a polled tier.
func (t Tier) Spins() int {
	if t.Polling {
		return 3
	}
	return 0
}

// RoundTrip returns how long a round trip to another node is measured.
func (l Load) RoundTrip() time.Duration { return WarmUp + l.Duration }

// Round returns how long a round of these tiers, and of so many other nodes, takes at least.
func (l Load) Round(tiers []Tier, nodes int) time.Duration {
	return time.Duration(len(tiers))*l.length() + time.Duration(nodes)*l.RoundTrip()
}

// NodeNetwork is the tier between nodes: the network of the nodes themselves. A packet of a pod also crosses
// the tiers within both its nodes, which each node measures itself.
const NodeNetwork = "node-network"

// WarmUp is the time before a trial counts its packets.
const WarmUp = 500 * time.Millisecond

// Experiment returns the experiment file of a tier's trial. Nodes a and b stand for two pods of one node. On
// kernel tiers their programs block on a socket, like those of most pods. On polled tiers they poll, in
// ordinary memory: the node's hugepages are for its pods, and the kubelet counts them.
func Experiment(t Tier, l Load) string {
	backend, wait := "udp", "block"
	if t.Polling {
		backend, wait = "dpdk", "spin"
	}
	var text strings.Builder
	fmt.Fprintf(&text, "name: %s\n", experimentName)
	if t.Polling {
		text.WriteString("dpdk: {hugepages: none}\n")
	}
	text.WriteString("topology:\n  nodes: {a: {}, b: {}}\n")
	on := ""
	if t.Card != "" {
		on = fmt.Sprintf(", sriov: {ports: [%q]}", t.Card)
	}
	fmt.Fprintf(&text, "  links: [{kind: %s, endpoints: [\"a:eth0\", \"b:eth0\"]%s}]\n", t.Kind, on)
	fmt.Fprintf(&text, "traffic: {from: \"a:eth0\", to: \"b:eth0\", backend: %s, wait: %s, rate_pps: %d, frame_bytes: %d, warmup: %s, duration: %s}\n",
		backend, wait, l.RatePPS, l.FrameBytes, WarmUp, l.Duration)
	return text.String()
}

// experimentName is the lab's name, and so part of the names of what a trial creates on the node.
const experimentName = "agent"
