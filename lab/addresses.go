package lab

import (
	"fmt"

	"nines.dev/nines/lab/check"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/plan"
)

// Readdressed lists the interfaces whose addresses the experiment's own commands, scripts or services have changed.
func (l *Lab) Readdressed() ([]check.Readdressed, error) { return check.Addresses(l.Lab) }

// Meet lets the nodes know each other by the addresses of another plan of the same nodes.
func (l *Lab) Meet(found *plan.Plan) error {
	for k, n := range found.Nodes {
		planned := l.Plan().Nodes[k]
		if n.Apart() || !l.Alive(n.Name) {
			continue
		}
		for at, i := range n.Interfaces {
			if !i.InKernel() || plan.Same(i.Neighbours, planned.Interfaces[at].Neighbours) {
				continue
			}
			if err := link.Meet(link.HolderOf(l.Running(n.Name)), i, planned.Interfaces[at].Neighbours); err != nil {
				return fmt.Errorf("interface %s:%s: %w", n.Name, i.Name, err)
			}
		}
	}
	return nil
}
