package plan

import (
	"fmt"
	"slices"

	"nines.dev/nines/spec"
)

// checkOffloads refuses offloads at devices that this host's kernel does not drive, and those that a receive mode turns
// off.
func (w *work) checkOffloads() error {
	for _, l := range w.links {
		if !l.spec.GRO && len(l.spec.Offloads) == 0 {
			continue
		}
		for _, e := range l.endpoints {
			switch {
			case e.node.guest() || !e.kernel() || e.function.Driver != "":
				return at(&Conflict{"link " + l.name, fmt.Sprintf("gro and offloads cannot be set at %s, whose device this host's kernel does not drive", e), "remove them there"}, l.steps())
			case slices.Contains(l.spec.Offloads, spec.OffloadTSO) && e.rx.NeedsNAPI():
				return at(&Conflict{"link " + l.name, fmt.Sprintf("rx: %s at %s turns TSO off", e.rx, e), "remove tso or rx"}, l.steps("offloads"))
			}
		}
		w.note("link %s: %s on at its devices, as the file says; a packet there may be what no wire carries.", l.name, Link{GRO: l.spec.GRO, Offloads: l.spec.Offloads}.OffloadText())
	}
	return nil
}
