package main

import (
	"github.com/spf13/cobra"

	"nines.dev/nines/cluster/local"
	"nines.dev/nines/exit"
	"nines.dev/nines/terminal"
)

func newImageCommand() *cobra.Command {
	var name string
	c := &cobra.Command{
		Use:   "image agent|scheduler FILE",
		Short: "Write the image of the agent, or of the scheduler, to a file",
		Long: `Write the image of the agent, or of the scheduler with nines' plugin, to a file for your own
cluster, because no registry has it. nines builds it from the programs on this machine. The
file is an OCI archive: skopeo copies it to a registry, and nodes can import it without one
(ctr, podman load, nines cluster up --image).`,
		Example: `  nines cluster image agent agent.tar --name registry.example.org/nines:1
  skopeo copy oci-archive:agent.tar docker://registry.example.org/nines:1`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return exit.Wrongf("name an image and a file: nines cluster image agent agent.tar")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			made, err := local.ImageOf(args[0])
			if err != nil {
				return err
			}
			if name != "" {
				made.Name = name
			}
			if err := made.Write(args[1]); err != nil {
				return err
			}
			_, err = terminal.Printf(c.OutOrStdout(), "%s is in %s\n", made.Name, args[1])
			return err
		},
	}
	c.Flags().StringVar(&name, "name", "", "the image's name (default: the name in the manifests)")
	return c
}
