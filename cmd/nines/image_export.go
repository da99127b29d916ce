package main

import (
	"strings"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/image"
	"nines.dev/nines/terminal"
)

func newImageExportCommand() *cobra.Command {
	var forms strings.Builder
	var names []string
	for _, f := range image.Formats {
		terminal.Printf(&forms, "  %-15s %s\n", f.Format, f.Doc)
		names = append(names, string(f.Format))
	}
	return &cobra.Command{
		Use:        "export IMAGE FORMAT PATH",
		Short:      "Write an image for another program",
		SuggestFor: []string{"push", "save"},
		Long: `Write an image to a new path, in one of these formats:

` + forms.String() + `
The same image gives the same files, except for disk, where only the content is the same.`,
		Example: `  nines image export frr lxc ./frr
  lxc-create -n web -t local -- --metadata ./frr/meta.tar.xz --fstree ./frr/rootfs.tar.xz
  nines image export frr oci ./layout && skopeo inspect oci:./layout`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 3 {
				return exit.Wrongf("'%s' takes an image, a format (%s) and a path", c.CommandPath(), strings.Join(names, ", "))
			}
			for _, name := range names {
				if args[1] == name {
					return nil
				}
			}
			return exit.Wrongf("unknown format %q; %s", args[1], terminal.Choose(args[1], "use", names))
		},
		RunE: func(c *cobra.Command, args []string) error {
			return imageStore(c.ErrOrStderr()).Export(c.Context(), args[0], image.Format(args[1]), args[2])
		},
	}
}
