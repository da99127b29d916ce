package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

func newImageImportCommand() *cobra.Command {
	var replace bool
	c := &cobra.Command{
		Use:        "import SOURCE NAME",
		Short:      "Import an image from a folder or a file",
		SuggestFor: []string{"pull", "load"},
		Long: `Import an image from a folder or a file, and give it a name. SOURCE is a path, whose form
nines detects, or a form and a path:

  oci:FOLDER[:NAME]              a folder in the OCI's image layout; NAME chooses one of several
  docker-archive:FILE[:NAME:TAG] written by docker save or podman save
  rootfs:FILE                    a root file system: squashfs, or tar, plain or compressed by gzip,
                                 xz or zstd
  lxc:FOLDER                     meta.tar.xz and rootfs.tar.xz, as distrobuilder build-lxc makes them
  incus:FOLDER or incus:FILE     incus.tar.xz and rootfs.squashfs or rootfs.tar.xz, or both in one file, as
                                 distrobuilder build-incus makes them

As root, an image that cannot be unpacked is refused. skopeo copy docker://NAME oci:FOLDER
fetches an image from a registry.`,
		Example: `  nines image import oci:/srv/images/frr frr
  nines image import docker-archive:frr.tar frr --replace
  nines image import rootfs.tar.xz debian
  distrobuilder build-lxc debian.yaml ./made && nines image import lxc:made debian`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return exit.Wrongf("'%s' takes a source, such as rootfs.tar or oci:/srv/frr, and a name", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			from, err := fromHere(args[0])
			if err != nil {
				return err
			}
			entry, err := imageStore(c.ErrOrStderr()).Import(c.Context(), from, args[1], replace)
			if err != nil {
				return err
			}
			_, err = terminal.Printf(c.OutOrStdout(), "%s sha256:%s, %s\n", entry.Name, entry.Digest, terminal.Bytes(entry.Bytes))
			return err
		},
	}
	c.Flags().BoolVar(&replace, "replace", false, "replace the image that has the name")
	return c
}

const importForms = "a path, or oci:FOLDER, docker-archive:FILE, rootfs:FILE, lxc:FOLDER or incus:FOLDER"

// fromHere parses a source whose path may begin at the current folder.
func fromHere(text string) (spec.ImageName, error) {
	if _, err := os.Stat(text); err == nil {
		whole, err := filepath.Abs(text)
		return spec.ImageName{Form: spec.ImagePath, Path: whole}, err
	}
	if n, err := spec.ParseImage(text); err == nil && n.Form == spec.ImageReference {
		return n, exit.Wrongf("there is no file or folder %q; write %s; if it is in a registry, fetch it first: skopeo copy docker://%[1]s oci:FOLDER", text, importForms)
	}
	form, rest, found := strings.Cut(text, ":")
	if found && rest != "" && !filepath.IsAbs(rest) {
		path, name, named := strings.Cut(rest, ":")
		whole, err := filepath.Abs(path)
		if err != nil {
			return spec.ImageName{}, err
		}
		text = form + ":" + whole
		if named {
			text += ":" + name
		}
	}
	n, err := spec.ParseImage(text)
	if err == nil && n.Form == spec.ImageStored {
		return n, exit.Wrongf("there is no file or folder %q; write %s", text, importForms)
	}
	if err != nil {
		return n, exit.Wrongf("%w", err)
	}
	return n, nil
}
