package lab

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/lab/engine"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/lab/service"
	"nines.dev/nines/plan"
)

// startApps starts the engines of new nodes, and of those whose app changed.
func (b *builder) startApps(ctx context.Context, w work) error {
	engines := engine.Maker{Lab: b.Lab.Lab, Place: b.place()}
	for _, n := range append(append([]plan.Node{}, w.nodes...), w.apps...) {
		if n.App == nil || !n.App.Kind.HasEngine() {
			continue
		}
		if err := engines.Start(ctx, n); err != nil {
			return fmt.Errorf("engine of node %q: %w", n.Name, err)
		}
	}
	return nil
}

// startServices starts the services of new nodes, and of those whose services changed or have ended. Nodes start side by
// side.
func (b *builder) startServices(ctx context.Context, w work) error {
	services := service.Maker{Lab: b.Lab.Lab, Journal: b.journal, Nines: b.programs.nines, Progress: b.progress}
	nodes := slices.Concat(w.nodes, w.services)
	return node.Each(ctx, len(nodes), func(i int) error { return services.Start(ctx, nodes[i]) })
}

// runExecs runs the commands that the file gives new nodes.
func (b *builder) runExecs(ctx context.Context, w work) error {
	for _, n := range w.nodes {
		for _, argv := range n.Exec {
			cmd, err := b.Command(ctx, n.Name, argv, running.ExecOptions{Scheduled: true})
			if err != nil {
				return err
			}
			if out, err := cmd.CombinedOutput(); err != nil {
				said := strings.TrimSpace(string(out))
				if said == "" {
					said = "it printed nothing"
				}
				return fmt.Errorf("node %q: exec %q: %w: %s; correct the command in the node's exec, or let it end with 0", n.Name, argv, err, said)
			}
		}
	}
	return nil
}
