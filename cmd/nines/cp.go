package main

import (
	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab/files"
)

func newCpCommand() *cobra.Command {
	var named string
	c := &cobra.Command{
		Use:        "cp [NODE:]SOURCE [NODE:]DESTINATION",
		Short:      "Copy files between the host and nodes",
		SuggestFor: []string{"copy", "scp"},
		Long: `Copy a file, or a folder with all that is in it, from the host to a node, back, or from a node
to another. If the destination is a folder, the copy is in it under its own name; otherwise
it has the destination's name. Files that exist are replaced, each when its copy is complete.

A path in a node begins at its /. Symbolic links of the command line are followed, and lead
nowhere outside of the node; those in folders are copied as links. The copies belong to
root, without set-user-ID bits; devices, sockets, pipes, /proc and /sys are not copied. A netns
node has the host's files, apart from those that are its own, so a copy to it is on the host.
Virtual machines and pods need tar. A node must run.`,
		Example: `  nines cp client.conf dut:/etc/
  nines cp dut:/var/log/frr ./logs
  nines cp --lab ospf a:/etc/frr/frr.conf b:/etc/frr/`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return exit.Wrongf("name a source and a destination, as in: nines cp dut:/etc/hosts .")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			var ends [2]files.Path
			for i, text := range args {
				var err error
				if ends[i], err = files.PathOf(text); err != nil {
					return err
				}
			}
			l, err := labByFlag(named)
			if err != nil {
				return err
			}
			return files.Copy(c.Context(), l.Lab, ends[0], ends[1], func(note string) { complain(c.ErrOrStderr(), "%s", note) })
		},
	}
	labFlag(c, &named)
	return c
}
