package change

import (
	"nines.dev/nines/plan"
)

// unreached says what of a change does not reach nodes that stay: it is for what starts in them.
func (d *differ) unreached() {
	restarted := Set(d.RestartedNodes)
	for _, n := range d.to.Nodes {
		old := d.was.Node(n.Name)
		if old == nil || d.begins(n.Name) || restarted[n.Name] {
			continue
		}
		if !plan.Same(old.Exec, n.Exec) {
			d.Unreached = append(d.Unreached, n.Name+": its exec list runs when it starts: nines restart --fresh")
		}
		if !plan.Same(old.Env, n.Env) && len(n.Exec) > 0 {
			d.Unreached = append(d.Unreached, n.Name+": what its exec list has started keeps the environment that it has; services start again")
		}
		if !plan.Same(old.Scheduling, n.Scheduling) && len(n.Exec) > 0 {
			d.Unreached = append(d.Unreached, n.Name+": what its exec list has started keeps its scheduling policy")
		}
	}
}
