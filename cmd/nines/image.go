package main

import (
	"io"

	"github.com/spf13/cobra"

	"nines.dev/nines/image"
	"nines.dev/nines/terminal"
	"nines.dev/nines/terminal/command"
)

func newImageCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "image",
		Short: "Build, import, export, list and remove images of nodes",
		Long: `An image is a root file system and the command that runs in it. Nodes with runtime: oci
run containers of images. An experiment file can describe images (images:); nines builds
them when a node first needs them.

nines keeps images in /var/cache/nines/images (NINES_CACHE_DIR changes /var/cache/nines),
by their digest and by names. It downloads nothing from registries; the drivers podman, docker and containerd of oci
nodes do, and keep their images themselves.`,
		Example: `  nines image build lab.yaml                            # build what the file's images: describe
  nines image import docker-archive:/srv/frr.tar frr   # written by docker save
  nines image ls
  nines image export frr lxc ./frr                     # meta.tar.xz and rootfs.tar.xz
  nines image rm frr`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newImageBuildCommand(), newImageImportCommand(), newImageExportCommand(), newImageListCommand(), newImageRemoveCommand())
	return c
}

// imageStore is the user's store of images, which says on out what takes long.
func imageStore(out io.Writer) image.Store {
	return image.Store{Dir: image.DefaultDir(), Progress: func(what string) { terminal.Printf(out, "%s …\n", what) }}
}

func newImageListCommand() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:        "ls",
		SuggestFor: []string{"images"},
		Short:      "List the images that nines has",
		Long: `List the images that nines has under a name: where each comes from, what its compressed
layers take, and its digest.`,
		Example: `  nines image ls
  nines image ls --format json | jq -r '.[].name'`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			list, err := imageStore(c.ErrOrStderr()).List()
			if err != nil {
				return err
			}
			return command.PrintAs(c.OutOrStdout(), format, append([]image.Entry{}, list...), writeImages)
		},
	}
	command.FormatFlag(c, &format)
	return c
}

func writeImages(out io.Writer, list []image.Entry) error {
	if len(list) == 0 {
		_, err := terminal.Printf(out, "no images; add some with nines image build or nines image import\n")
		return err
	}
	t := &terminal.Table{}
	t.Row("IMAGE", "FROM", "SIZE", "DIGEST")
	for _, e := range list {
		t.Row(e.Name, e.From, terminal.Bytes(e.Bytes), "sha256:"+e.Digest)
	}
	return t.Write(out, terminal.Style{})
}
