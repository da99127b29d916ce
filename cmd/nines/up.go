package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"nines.dev/nines/host"
	"nines.dev/nines/lab"
	"nines.dev/nines/lab/dryrun"
	"nines.dev/nines/lab/watch"
	"nines.dev/nines/terminal"
)

// upCall holds the options of nines up.
type upCall struct {
	labFile
	dryRun bool
	wait   bool
	limit  time.Duration
}

func newUpCommand() *cobra.Command {
	var call upCall
	c := &cobra.Command{
		Use:        "up FILE",
		Short:      "Build the network of an experiment and leave it running",
		SuggestFor: []string{"deploy", "create", "launch", "provision", "boot", "lstart"},
		Long: `Build the network of an experiment file and leave it running: nodes, links, and the
engines of nodes that forward or reflect. Nothing is measured. Only the host's scripts
run (scripts: in the file); scripts of nodes run with 'nines run'.

If a step fails, or at Ctrl-C, nines removes what it made. If nines is killed,
'nines down' removes it, and so does the next 'nines up' of the same file.

--wait returns when the nodes that have a healthcheck are healthy. If some are not
healthy in time, the error names them with the output of their last checks, and the lab
stays up.
--dry-run lists the steps and makes nothing. If the host lacks something that they need,
the last lines say what, and the exit code is 3.`,
		Example: `  nines up lab.yaml
  nines up lab.yaml --dry-run                # show what would be made
  nines up lab.yaml --wait --wait-limit 1m   # until its health checks succeed
  nines up lab.yaml --set links.*.kind=bridge
  nines up examples/quickstart.yaml --run 4  # the network of the sweep's fourth run
  nines exec dut -- ip addr                  # and then look around`,
		Args: oneFile,
		RunE: func(c *cobra.Command, args []string) error {
			call.path = args[0]
			return call.up(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	call.flags(c)
	c.Flags().BoolVar(&call.dryRun, "dry-run", false, "show what would be made, and make nothing")
	c.Flags().BoolVar(&call.wait, "wait", false, "return when all nodes with a healthcheck are healthy")
	c.Flags().DurationVar(&call.limit, "wait-limit", 0, "how long --wait waits (default: as long as the checks can take to a verdict)")
	return c
}

func (u upCall) up(ctx context.Context, out, progress io.Writer) error {
	p, err := u.plan()
	if err != nil {
		return err
	}
	if u.dryRun {
		// A lab that cannot be built is an error here too, after the steps.
		return errors.Join(writeLines(out, dryrun.Steps(p.Plan)), host.Missing(p.findings))
	}
	if err := host.Missing(p.findings); err != nil {
		return err
	}
	start := time.Now()
	l, err := lab.Up(ctx, lab.UpOptions{Plan: p.Plan, Experiment: p.text, Scripts: p.scripts, Progress: progressTo(progress)})
	if err != nil {
		return err
	}
	if u.wait {
		limit := cmp.Or(u.limit, watch.Patience(p.Plan))
		if err := watch.AwaitHealthy(ctx, l.Name(), limit, progressTo(progress)); err != nil {
			return fmt.Errorf("lab %s is up, but not healthy: %w; nines inspect %s shows its nodes, and nines down %s takes it down", l.Name(), err, l.Name(), l.Name())
		}
	}
	_, err = terminal.Printf(out, "lab %s is up: %s, %s, in %s\n", l.Name(),
		terminal.Count(len(p.Nodes), "node"), terminal.Count(len(p.Links), "link"), time.Since(start).Round(time.Millisecond))
	return err
}

func writeLines(out io.Writer, lines []string) error {
	for _, line := range lines {
		if _, err := terminal.Println(out, line); err != nil {
			return err
		}
	}
	return nil
}
