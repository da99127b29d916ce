package main

import (
	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
)

func newImageRemoveCommand() *cobra.Command {
	var unpacked bool
	c := &cobra.Command{
		Use:        "rm IMAGE...",
		Short:      "Remove images",
		SuggestFor: []string{"rm", "rmi"},
		Long: `Remove images by name. Names that do not exist are reported, and all others are removed.
An image's files are deleted with its last name. All unpacked copies that no container
uses are deleted, too; nodes unpack images again when they need them. --unpacked deletes
only these copies.`,
		Example: `  nines image rm frr
  nines image rm --unpacked`,
		Args: func(c *cobra.Command, args []string) error {
			if unpacked && len(args) > 0 {
				return exit.Wrongf("--unpacked removes unpacked copies only and takes no names of images; give one or the other")
			}
			if len(args) == 0 && !unpacked {
				return exit.Wrongf("'%s' takes names of images; nines image ls lists them", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return imageStore(c.ErrOrStderr()).Remove(c.Context(), args...)
		},
	}
	c.Flags().BoolVar(&unpacked, "unpacked", false, "delete only unpacked copies that no container uses")
	return c
}
