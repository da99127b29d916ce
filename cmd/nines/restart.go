package main

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab"
	"nines.dev/nines/terminal"
)

func newRestartCommand() *cobra.Command {
	call := nodesCall{do: lab.DoRestart, done: "restarted"}
	service := ""
	c := &cobra.Command{
		Use:        "restart NODE... | restart NODE SERVICE",
		Short:      "Restart nodes; their networks stay",
		SuggestFor: []string{"reload", "reboot"},
		Long: `End the processes of nodes and start them again. The network of a node belongs to the lab and
stays: its interfaces keep their MAC addresses, IP addresses and indexes, the other ends
keep their carrier, and captures continue. A container keeps its files; the exec list of the
node runs again. A node that is stopped or has died is started.
The first process of a container with systemd shuts its services down first, for at most
10 seconds; --kill does not wait for it.
--fresh gives a container new files, from the image that its name refers to now.
A service's name after that of its node, or --service, restarts that program only, and leaves
the node as it is.
With another image, runtime or limit in the lab's file, 'nines apply' does the same.`,
		Example: `  nines restart dut
  nines restart dut loadgen --lab quickstart
  nines restart dut --kill                 # as a power cut would
  nines restart dut forwarder              # only this service of the node dut
  nines restart dut --fresh                # with new files, of the image as it is now
  nines restart dut --during-measurement   # in the middle of a trial of nines run`,
		Args: someNodes,
		RunE: func(c *cobra.Command, args []string) error {
			if of := call.serviceOfNode(args); service == "" && of != "" {
				service, args = of, args[:1]
			}
			if service != "" {
				return call.restartService(c.Context(), c.OutOrStdout(), c.ErrOrStderr(), args, service)
			}
			return call.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr(), args)
		},
	}
	call.flags(c)
	call.killFlag(c)
	c.Flags().StringVar(&service, "service", "", "restart this service of the node only")
	c.Flags().BoolVar(&call.fresh, "fresh", false, "recreate the nodes' files from their images as they are now")
	return c
}

// nodesCall holds the options of the verbs that change single nodes.
type nodesCall struct {
	do     lab.Do
	done   string // "restarted"
	lab    string
	kill   bool
	fresh  bool
	during bool
}

func (n *nodesCall) flags(c *cobra.Command) {
	labFlag(c, &n.lab)
	duringFlag(c, &n.during)
}

func (n *nodesCall) killFlag(c *cobra.Command) {
	c.Flags().BoolVar(&n.kill, "kill", false, "kill the nodes' processes at once")
}

// duringFlag prevents a user from spoiling a measurement by accident.
func duringFlag(c *cobra.Command, during *bool) {
	c.Flags().BoolVar(during, "during-measurement", false, "do it also while nines run measures the lab: the trial becomes invalid")
}

// someNodes is the Args of a verb that takes one node or several.
func someNodes(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return exit.Wrongf("name a node or several, as in: nines %s dut", c.Name())
	}
	return nil
}

// serviceOfNode is a second name that no node has, but a service of the node before it; else it is empty.
func (n *nodesCall) serviceOfNode(names []string) string {
	if len(names) != 2 {
		return ""
	}
	l, err := labByFlag(n.lab)
	if err != nil {
		return "" // the verb says it
	}
	of, _, unknown := l.Node(names[0])
	if _, _, other := l.Node(names[1]); unknown != nil || other == nil || lab.CheckService(of, names[1]) != nil {
		return ""
	}
	return names[1]
}

// restartService restarts one program of a node. A lab that is measured refuses it.
func (n *nodesCall) restartService(ctx context.Context, out, progress io.Writer, nodes []string, service string) error {
	if len(nodes) > 1 || n.fresh {
		return exit.Wrongf("--service is of one node, which stays as it is: leave out --fresh and other nodes")
	}
	l, err := labByFlag(n.lab)
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := l.RestartService(ctx, nodes[0], service, lab.RestartOptions{Kill: n.kill, Progress: progressTo(progress)}); err != nil {
		return err
	}
	_, err = terminal.Printf(out, "service %s of %s restarted, in %s\n", service, nodes[0], time.Since(begun).Round(time.Millisecond))
	return err
}

func (n *nodesCall) run(ctx context.Context, out, progress io.Writer, names []string) error {
	l, err := labByFlag(n.lab)
	if err != nil {
		return err
	}
	begun := time.Now()
	err = lab.ChangeNodes(ctx, l.Name(), n.do, names, lab.ChangeOptions{
		RestartOptions: lab.RestartOptions{Kill: n.kill, Fresh: n.fresh, Progress: progressTo(progress)},
		By:             "nines " + string(n.do), DuringMeasurement: n.during,
	})
	if err != nil {
		return err
	}
	what := "node"
	if len(names) > 1 {
		what = "nodes"
	}
	_, err = terminal.Printf(out, "%s %s %s, in %s\n", what, strings.Join(names, ", "), n.done, time.Since(begun).Round(time.Millisecond))
	return err
}
