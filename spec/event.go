package spec

import "fmt"

// Event is what happens to the lab, deliberately, at a time of every trial.
type Event struct {
	// At is the time since the trial's traffic began, with its warm-up.
	At Duration `yaml:"at" json:"at"`
	// Link is the link that fails.
	Link string `yaml:"link,omitempty" json:"link,omitempty"`
	// Down is how long the link passes nothing.
	Down Duration `yaml:"down,omitempty" json:"down,omitempty"`
	// Node is the node that is restarted.
	Node string `yaml:"node,omitempty" json:"node,omitempty"`
	// Restart ends what runs in the node and starts it again, as nines restart does.
	Restart bool `yaml:"restart,omitempty" json:"restart,omitempty"`
}

// String is the event in one line: "at 5s link in is down for 200ms".
func (e Event) String() string {
	if e.Restart {
		return fmt.Sprintf("at %v node %s is restarted", e.At, e.Node)
	}
	return fmt.Sprintf("at %v link %s is down for %v", e.At, e.Link, e.Down)
}

// CanBeCut is true for links that nines can take down and up again while the nodes keep their addresses
// and routes: their other sides are in the lab's fabric, our switch is between them, or CutAtEnds.
func (d *LinkDescriptor) CanBeCut() bool {
	return d.InFabric && (d.DPDK != DPDKVhost || d.Program.IsEngine) || d.CutAtEnds()
}

// CutAtEnds is true for links that are taken down at their ends in the nodes, which then drop what they
// receive and keep their carrier.
func (d *LinkDescriptor) CutAtEnds() bool {
	return !d.InFabric && (d.End == EndVeth || d.End == EndMacvlan)
}
