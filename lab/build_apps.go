package lab

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"syscall"
	"time"

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
		if !n.App.Handling().HasEngine() {
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

// execPatience is how long a command of a node's exec list may take: what stays is a service.
const execPatience = 10 * time.Minute

// runExecs runs the commands that the file gives new nodes.
func (b *builder) runExecs(ctx context.Context, w work) error {
	for _, n := range w.nodes {
		for _, argv := range n.Exec {
			if err := b.runExec(ctx, n, argv, execPatience); err != nil {
				return fmt.Errorf("node %q: exec %q: %w", n.Name, argv, err)
			}
		}
	}
	return nil
}

func (b *builder) runExec(ctx context.Context, n plan.Node, argv []string, patience time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd, err := b.Command(limited, n.Name, argv, running.ExecOptions{Scheduled: true})
	if err != nil {
		return err
	}
	// Ctrl-C at the terminal is for nines, which then ends the command, and knows why it did.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var printed node.Tail // it may print without end
	cmd.Stdout, cmd.Stderr = &printed, &printed
	err = cmd.Run()
	said := "it printed nothing"
	if line := printed.Line(); line != "" {
		said = "it printed: " + line
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case limited.Err() != nil:
		return fmt.Errorf("it had not ended after %v, and was ended; %s; list a program that stays under the node's services", patience, said)
	case errors.Is(err, exec.ErrWaitDelay):
		return fmt.Errorf("it has ended, but has left a program in the background that holds its output; %s; list that program under the node's services, or send its output to a file", said)
	}
	err = fmt.Errorf("%w; %s; correct the command in the node's exec, or let it end with 0", err, said)
	return node.WithRefusal(err, n, said)
}
