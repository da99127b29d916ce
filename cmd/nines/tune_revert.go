package main

import (
	"context"
	"errors"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"nines.dev/nines/host/tune"
	"nines.dev/nines/terminal"
)

func newTuneRevertCommand() *cobra.Command {
	var root string
	c := &cobra.Command{
		Use:   "revert",
		Short: "Restore what 'nines tune apply' changed",
		Long: `Restore every setting, and the boot loader's files, to what they were before
'nines tune apply'. Settings that another program has changed since stay unchanged, and
nines reports them. This also works after an apply that was killed.`,
		Example: `  nines tune revert
  nines tune revert --root /tmp/copy   # the boot loader's files of a copy`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return tuneRevert(c.Context(), root, c.OutOrStdout())
		},
	}
	c.Flags().StringVar(&root, "root", "", "use this copy of the boot loader's files, as in apply, and change no setting")
	return c
}

func tuneRevert(ctx context.Context, root string, out io.Writer) error {
	if err := needRoot("changing settings"); err != nil && root == "" {
		return err
	}
	note := func(text string) { terminal.Printf(out, "  %s\n", text) }
	nothing := true
	tree := tune.BootTree{Root: "/"}
	if root != "" {
		var err error
		if tree.Root, err = filepath.Abs(root); err != nil {
			return err
		}
	} else {
		session, err := tuneSession()
		if err != nil {
			return err
		}
		count, err := session.Revert(ctx, note)
		switch {
		case errors.Is(err, tune.ErrNothing):
		case err != nil:
			return err
		default:
			nothing = false
			terminal.Printf(out, "%d settings restored.\n", count)
		}
	}
	written, err := tree.Read()
	if err != nil {
		return err
	}
	if err := tree.Revert(ctx, note); err != nil {
		return err
	}
	if written != nil {
		nothing = false
		terminal.Printf(out, "Boot parameters removed: %s\n", written.Line)
		if root == "" {
			terminal.Printf(out, "The running kernel keeps them until the next boot.\n")
		}
	}
	if nothing {
		terminal.Printf(out, "nines tune has nothing in force here.\n")
	}
	return nil
}
