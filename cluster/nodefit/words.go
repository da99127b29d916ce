package nodefit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"nines.dev/nines/cluster/request"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// Sentence says what the node has to the request, as an event shows it:
//
//	node n2: p99.99 of sriov is 143 µs, 100 µs requested, measured 4 min ago
func (a *Answer) Sentence(r *request.Request, now time.Time) string {
	return "node " + a.Node + ": " + a.Reason(r, now)
}

// Reason is the sentence without the node.
func (a *Answer) Reason(r *request.Request, now time.Time) string {
	e := &a.Evidence
	what := fmt.Sprintf("p%s of %s%s", e.P, e.Tier, to(e.Peer))
	wanted := wantedOf(e.Limit)
	measured := "measured " + Age(now.Sub(e.MeasuredAt))
	if e.Noisy {
		measured += " on a noisy host"
	}
	switch a.Miss {
	case Held:
		if a.ByLabel {
			return "nothing is measured; its labels allow " + thesisTier(a.Tier)
		}
		return fmt.Sprintf("%s is at most %s, %s, %s", what, terminal.Duration(e.BoundNs), wanted, measured)
	case NoPort:
		return fmt.Sprintf("pods have taken all ports that its label %s counts", LabelPorts)
	case Slower:
		return fmt.Sprintf("%s is %s, %s, %s", what, terminal.Duration(e.ValueNs), wanted, measured)
	case Unsure:
		return fmt.Sprintf("%s is %s but may be %s, %s, %s", what, terminal.Duration(e.ValueNs), terminal.Duration(e.BoundNs), wanted, measured)
	case Unbounded:
		return fmt.Sprintf("%s is %s, but nothing bounds it (%s), %s, %s", what, terminal.Duration(e.ValueNs), e.NoBounds, wanted, measured)
	case Unsupported:
		return fmt.Sprintf("too few packets were measured to tell p%s of %s%s, %s", e.Limit.P, e.Tier, to(e.Peer), measured)
	case TooOld:
		return fmt.Sprintf("%s%s was %s, which is too old to count", e.Tier, to(e.Peer), measured)
	case ClockAhead:
		return fmt.Sprintf("%s%s was measured in the future: set the clock of this node or of the scheduler", e.Tier, to(e.Peer))
	case Contradicting:
		return fmt.Sprintf("%s%s is unusable: %s", e.Tier, to(e.Peer), e.Fault)
	case NoTarget:
		return fmt.Sprintf("no node matches \"to: %s\"", r.To.Text)
	case Unmeasured:
		if e.Tier != "" {
			return fmt.Sprintf("%s%s is not measured", e.Tier, to(e.Peer))
		}
		if len(r.Tiers) > 0 {
			return fmt.Sprintf("%s is not measured%s", strings.Join(r.Tiers, ", "), unknownTiers(r.Tiers))
		}
		return "nothing is measured"
	case Unlabelled:
		return fmt.Sprintf("nothing is measured, and its labels %s and %s offer no %s", LabelPorts, LabelOVS, terminal.Duration(e.Limit.Ns))
	}
	return ""
}

// Class is the reason without the node's own figures, the same for many nodes, so that the event
// of a large cluster can count them.
func (a *Answer) Class() string {
	switch limit := a.Evidence.Limit; a.Miss {
	case NoPort:
		return "nodes have no free port"
	case Slower:
		return fmt.Sprintf("nodes are slower than p%s of %s", limit.P, terminal.Duration(limit.Ns))
	case Unsure:
		return fmt.Sprintf("nodes may be slower than p%s of %s", limit.P, terminal.Duration(limit.Ns))
	case Unbounded:
		return fmt.Sprintf("nodes have no bound of p%s", limit.P)
	case Unsupported:
		return fmt.Sprintf("nodes have too few packets to tell p%s", limit.P)
	case TooOld:
		return "nodes have figures that are too old"
	case ClockAhead:
		return "nodes have figures dated in the future"
	case Contradicting:
		return "nodes have figures that contradict themselves or are invalid"
	case NoTarget:
		return "nodes have no reachable target"
	case Unlabelled:
		return "nodes have neither figures nor labels for the latency"
	case Unmeasured, Held:
	}
	return "nodes have no figure for the requested latency"
}

// unknownTiers says which of the names are none of nines: such a tier has figures only if another program publishes them.
func unknownTiers(names []string) string {
	known := []string{nodeNetwork}
	for _, kind := range spec.LinkKinds() {
		if !kind.Descriptor().Remote {
			known = append(known, string(kind))
		}
	}
	var unknown []string
	for _, name := range names {
		if !slices.Contains(known, name) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == 0 {
		return ""
	}
	return fmt.Sprintf(" (nines has no tier %s; it has %s)", strings.Join(unknown, ", "), strings.Join(known, ", "))
}

// nodeNetwork is the tier of the nodes' own network.
const nodeNetwork = "node-network"

func wantedOf(limit request.Limit) string {
	if limit.Inclusive {
		return "at most " + terminal.Duration(limit.Ns) + " requested"
	}
	return terminal.Duration(limit.Ns) + " requested"
}

func to(peer string) string {
	if peer == "" {
		return ""
	}
	return " to " + peer
}

func thesisTier(tier string) string {
	name := "the default network"
	switch tier {
	case TierPort:
		name = "a port"
	case TierOVS:
		name = "Open vSwitch"
	}
	return fmt.Sprintf("%s (%s)", name, terminal.Duration(thesisNs(tier)))
}

// Age says how long ago something was, in one unit, so that an event does not change each second.
func Age(d time.Duration) string {
	switch {
	case d < time.Second:
		return "just now"
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(d.Hours()/24))
}
