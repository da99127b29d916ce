package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/result/index"
	"nines.dev/nines/terminal"
)

func newResultsRemoveCommand(call *resultsCall) *cobra.Command {
	var yes, dryRun bool
	c := &cobra.Command{
		Use:        "rm RESULT...",
		Short:      "Remove results from disk and index",
		SuggestFor: []string{"rm"},
		Long: `Remove result folders below --out, and their rows in the index. nines removes only
folders that it wrote (it checks the schema in their summary.json) and none that is
being measured, and it follows no symbolic link out of the folder of all results. If
latest pointed to a removed result, it then points to the newest that is left.

nines asks before it removes. Without a terminal, --yes is required.`,
		Example: `  nines results rm quickstart/2026-11-20T18-30-05Z
  nines results rm latest --dry-run
  nines results ls --name 'try*' --format json | jq -r '.[].path' | xargs nines results rm --yes`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exit.Wrongf("'%s' takes results, such as latest; 'nines results ls' lists them", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			x, err := call.open(c.Context(), c.ErrOrStderr())
			if err != nil {
				return err
			}
			defer x.Close()
			var all []index.Removable
			seen := map[string]bool{}
			for _, arg := range args { // checks all before it removes the first
				folder, err := x.Folder(c.Context(), arg)
				if err != nil {
					return err
				}
				removable, err := x.Removable(folder)
				if err != nil {
					return err
				}
				if !seen[folder] {
					seen[folder] = true
					all = append(all, removable)
				}
			}
			for _, r := range all {
				terminal.Printf(c.ErrOrStderr(), "%s: %s, %s\n", r.Folder, terminal.Count(r.Files, "file"), terminal.Bytes(r.Bytes))
			}
			if dryRun {
				return nil
			}
			if !yes {
				if err := confirm(c.Context(), c.InOrStdin(), c.ErrOrStderr(), len(all)); err != nil {
					return err
				}
			}
			for i, r := range all {
				if c.Context().Err() != nil {
					return fmt.Errorf("interrupted: %d of %d results were removed", i, len(all))
				}
				if err := x.Remove(c.Context(), r.Folder); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	c.Flags().BoolVar(&dryRun, "dry-run", false, "show what would be removed, and remove nothing")
	return c
}

// errNothingRemoved ends a call that was not confirmed.
var errNothingRemoved = errors.New("nothing was removed")

// confirm asks the user, if there is a terminal. Ctrl-C means no.
func confirm(ctx context.Context, in io.Reader, words io.Writer, count int) error {
	file, ok := in.(*os.File)
	if !ok || !isTerminal(file) {
		return exit.Wrongf("no terminal to ask for confirmation: use --yes to remove, or --dry-run to see what would be removed")
	}
	what := "it"
	if count > 1 {
		what = fmt.Sprintf("these %d results", count)
	}
	terminal.Printf(words, "Remove %s for good? [y/N] ", what)
	replies := make(chan string, 1)
	go func() { // a terminal may block this until the program ends
		reply, _ := bufio.NewReader(in).ReadString('\n') // at the input's end: the text typed so far
		replies <- reply
	}()
	select {
	case reply := <-replies:
		switch strings.ToLower(strings.TrimSpace(reply)) {
		case "y", "yes":
			return ctx.Err()
		}
	case <-ctx.Done():
		terminal.Println(words) // ends the question's line
	}
	return errNothingRemoved
}
