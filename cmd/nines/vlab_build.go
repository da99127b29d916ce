package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"nines.dev/nines/terminal"
	"nines.dev/nines/terminal/command"
	"nines.dev/nines/vm/guestimage"
	"nines.dev/nines/vm/vlab"
)

func newVlabBuildCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "build [KERNEL]...",
		Short: "Download kernels and build the laboratory's files ahead of time",
		Long: `Download kernels and build the laboratory's root file system from Debian's packages,
unless they are there. The other commands do this when they need something; use this one
ahead of time, for example while there is a network. Without names it takes all kernels.`,
		Example: `  nines vlab build
  nines vlab build debian rt13`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = guestimage.KernelNames()
			}
			for _, name := range args {
				if _, err := guestimage.ParseKernel(name); err != nil {
					return err
				}
			}
			store, err := laboratoryStore(c.ErrOrStderr())
			if err != nil {
				return err
			}
			made := make([]string, len(args))
			group, ctx := errgroup.WithContext(c.Context())
			group.SetLimit(downloadsAtOnce)
			for i, name := range args {
				group.Go(func() error {
					kernel, root, err := vlab.Images(ctx, store, name)
					if err == nil {
						made[i] = fmt.Sprintf("%s: Linux %s in %s, with %s", kernel.Name, kernel.Version, kernel.Image, root.Disk)
					}
					return err
				})
			}
			err = group.Wait()
			for _, line := range made {
				if line != "" { // of those that are made
					terminal.Println(c.OutOrStdout(), line)
				}
			}
			return err
		},
	}
}

// downloadsAtOnce is how many kernels are downloaded at the same time: a mirror of Debian
// gives a single connection less than the network could carry.
const downloadsAtOnce = 4

func newVlabKernelsCommand() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:     "kernels",
		Aliases: []string{"ls"},
		Short:   "List the laboratory's kernels and which are downloaded",
		Long: `List the kernels for a laboratory: Debian's standard kernel (debian), the one for clouds
(cloud, without 9p and most drivers) and the real-time one (rt), of Debian 12 and 13. A
version is shown for those that are downloaded.`,
		Example: `  nines vlab kernels
  nines vlab kernels --format json | jq -r '.[].name'`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			kernels := guestimage.Store{Dir: guestimage.DefaultDir()}.Kernels()
			if format == "json" {
				return command.WriteJSON(c.OutOrStdout(), kernels)
			}
			t := &terminal.Table{}
			t.Row("KERNEL", "PACKAGE", "DEBIAN", "FETCHED")
			for _, k := range kernels {
				t.Row(k.Name, k.Package, k.Release, cmp.Or(k.Version, terminal.None))
			}
			return t.Write(c.OutOrStdout(), terminal.Style{})
		},
	}
	command.FormatFlag(c, &format)
	return c
}
