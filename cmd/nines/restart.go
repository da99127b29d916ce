package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab"
)

func newRestartCommand() *cobra.Command {
	call := nodesCall{done: "restarted"}
	c := &cobra.Command{
		Use:   "restart NODE...",
		Short: "Restart nodes; their networks stay",
		Long: `End the processes of nodes and start them again. The network of a node belongs to the lab and
stays: its interfaces keep their MAC addresses, IP addresses and indexes, the other ends
keep their carrier, and captures continue. A container keeps its files; the exec list of the
node runs again. A node that is stopped or has died is started.
The first process of a container with systemd shuts its services down first, for at most
10 seconds; --kill does not wait for it.`,
		Example: `  nines restart dut
  nines restart dut loadgen --lab quickstart
  nines restart dut --kill                 # as a power cut would`,
		Args: someNodes,
		RunE: func(c *cobra.Command, args []string) error {
			return call.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr(), args, (*lab.Lab).Restart)
		},
	}
	call.flags(c)
	c.Flags().BoolVar(&call.kill, "kill", false, "kill the nodes' processes at once")
	return c
}

// nodesCall holds the options of the verbs that change single nodes.
type nodesCall struct {
	lab  string
	kill bool
	done string // "restarted"
}

func (n *nodesCall) flags(c *cobra.Command) {
	labFlag(c, &n.lab)
}

// someNodes is the Args of a verb that takes one node or several.
func someNodes(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return exit.Wrongf("name a node or several, as in: nines %s dut", c.Name())
	}
	return nil
}

func (n *nodesCall) run(ctx context.Context, out, progress io.Writer, names []string,
	change func(*lab.Lab, context.Context, []string, lab.RestartOptions) error,
) error {
	l, err := labByFlag(n.lab)
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := change(l, ctx, names, lab.RestartOptions{Kill: n.kill, Progress: progressTo(progress)}); err != nil {
		return err
	}
	what := "node"
	if len(names) > 1 {
		what = "nodes"
	}
	_, err = fmt.Fprintf(out, "%s %s %s, in %s\n", what, strings.Join(names, ", "), n.done, time.Since(begun).Round(time.Millisecond))
	return err
}
