package main

import (
	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
)

func newImageRemoveCommand() *cobra.Command {
	var unpacked bool
	c := &cobra.Command{
		Use:   "rm IMAGE...",
		Short: "Remove images",
		Long: `Remove images by their names. Their files go with the last name that they have, and with
them all unpacked images, which nodes unpack again; those that a container runs from stay.
--unpacked removes only the unpacked ones.`,
		Example: `  nines image rm frr
  nines image rm --unpacked`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 && !unpacked {
				return exit.Wrongf("'%s' takes names of images; nines image ls lists them", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return imageStore(c.ErrOrStderr()).Remove(c.Context(), args...)
		},
	}
	c.Flags().BoolVar(&unpacked, "unpacked", false, "remove what is unpacked")
	return c
}
