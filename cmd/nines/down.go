package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/journal"
	"nines.dev/nines/lab"
	"nines.dev/nines/terminal"
)

// downCall holds the options of nines down.
type downCall struct {
	lab    string
	all    bool
	dryRun bool
}

func newDownCommand() *cobra.Command {
	var call downCall
	c := &cobra.Command{
		Use:        "down [NAME|FILE]",
		Short:      "Take a lab down and restore the host",
		SuggestFor: []string{"destroy", "delete", "remove", "rm", "teardown", "clean", "cleanup", "lclean", "wipe", "undeploy"},
		Long: `Take a lab down: end its nodes and remove what the lab's journal lists. nines does not
touch anything it did not make. The command returns when everything is gone.

If the journal is damaged, the command names the line, and searches for what else
belongs to the lab. It undoes what it finds, says what it cannot restore, and exits
with 1.

It works after any crash, also after kill -9 in the middle of 'nines up' or of
'nines down' itself, and on a full disk. You may omit the name if there is only one
lab. With --all, a lab that cannot be taken down does not stop the others.`,
		Example: `  nines down                 # the only lab
  nines down quickstart      # by name
  nines down lab.yaml        # by its file
  nines down --all
  nines down --dry-run       # show what would be undone`,
		Args: atMostOneLab,
		RunE: func(c *cobra.Command, args []string) error {
			var err error
			if call.lab, err = oneLab(args, call.lab); err != nil {
				return err
			}
			if call.all && call.lab != "" {
				return exit.Wrongf("either name a lab or use --all")
			}
			return call.down(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	labFlag(c, &call.lab)
	c.Flags().BoolVar(&call.all, "all", false, "take down every lab of this host")
	c.Flags().BoolVar(&call.dryRun, "dry-run", false, "show what would be undone, and undo nothing")
	return c
}

func (d downCall) down(ctx context.Context, out, problems io.Writer) error {
	one := func(name string) error { return takeDown(ctx, out, problems, name) }
	if d.dryRun {
		one = func(name string) error { return listUndo(ctx, out, name) }
	}
	switch {
	case d.all && d.dryRun:
		return lab.Each(one)
	case d.all:
		return lab.DownAll(one)
	}
	name, err := labName(d.lab)
	if err != nil {
		return err
	}
	return one(name)
}

func takeDown(ctx context.Context, out, problems io.Writer, name string) error {
	start := time.Now()
	slow := time.AfterFunc(2*time.Second, func() { terminal.Printf(problems, "taking lab %s down …\n", name) })
	notes, err := lab.Down(journal.WithProgress(ctx, progressTo(problems)), name)
	slow.Stop()
	writeNotes(problems, notes)
	if err != nil {
		return err
	}
	_, err = terminal.Printf(out, "lab %s is down, in %s\n", name, time.Since(start).Round(time.Millisecond))
	return err
}

// writeNotes writes what undo has noted, which may quote scripts and the names of processes.
func writeNotes(out io.Writer, notes []string) {
	for _, note := range notes {
		terminal.Println(out, note)
	}
}

// listUndo lists what would be undone, in the order of undo: backwards. Its error is what is wrong with the journal.
func listUndo(ctx context.Context, out io.Writer, name string) error {
	u, err := lab.WouldUndo(ctx, name)
	var lines []string
	for _, f := range u.Found {
		line := fmt.Sprintf("undo %s, which a search found: no line of the journal names it", f)
		if f.Doubt != "" {
			line = fmt.Sprintf("leave %s: %s", f, f.Doubt)
		}
		lines = append(lines, line)
	}
	for _, step := range slices.Backward(u.Steps) {
		lines = append(lines, fmt.Sprintf("undo %s", step))
	}
	for _, line := range lines {
		if _, err := terminal.Printf(out, "%s\n", line); err != nil {
			return err
		}
	}
	return errors.Join(err, u.Wrong)
}
