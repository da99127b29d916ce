package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

func newImageBuildCommand() *cobra.Command {
	var again bool
	c := &cobra.Command{
		Use:   "build FILE [IMAGE...]",
		Short: "Build the images of an experiment file",
		Long: `Build the images that an experiment file describes under images:, or only the named ones, each after its base image. An image is not built again while its
recipe, its script and its files stay the same; --again builds it with the packages that
Debian has now. The same packages, script and files give the same image.

It needs root, mmdebstrap and a Debian mirror: the one in NINES_DEBIAN_MIRROR, or the one
of the host's apt. The script of a recipe runs as root, on this host's kernel and
network: build only what you trust.`,
		Example: `  nines image build lab.yaml
  nines image build lab.yaml frr --again`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exit.Wrongf("'%s' takes an experiment file, and names of its images", c.CommandPath())
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return buildImages(c.Context(), c.OutOrStdout(), c.ErrOrStderr(), args[0], args[1:], again)
		},
	}
	c.Flags().BoolVar(&again, "again", false, "rebuild images that are up to date")
	return c
}

func buildImages(ctx context.Context, out, words io.Writer, path string, names []string, again bool) error {
	recipes, err := recipesOf(path, names)
	if err != nil {
		return err
	}
	store := imageStore(words)
	for _, r := range recipes {
		entry, err := store.Build(ctx, r.Name, r.ImageRecipe, again)
		if err != nil {
			return fmt.Errorf("image %q: %w", r.Name, err)
		}
		if _, err := terminal.Printf(out, "%s sha256:%s, %s\n", entry.Name, entry.Digest, terminal.Bytes(entry.Bytes)); err != nil {
			return err
		}
	}
	return nil
}

// recipesOf are the recipes of a file, or those with the names, each once and after its base.
func recipesOf(path string, names []string) ([]plan.NamedRecipe, error) {
	file, err := spec.LoadFile(path)
	if err != nil {
		return nil, err
	}
	runs, err := file.Runs()
	if err != nil {
		return nil, err
	}
	exp := runs[0].Experiment
	known := slices.Sorted(maps.Keys(exp.Images))
	if len(known) == 0 {
		return nil, exit.Wrongf("%s has no images; describe them under images:", path)
	}
	for _, name := range names {
		if exp.Images[name] == nil {
			return nil, exit.Wrongf("%s has no image %q; %s", path, name, terminal.Choose(name, "its images:", known))
		}
	}
	if len(names) == 0 {
		names = known
	}
	var list []plan.NamedRecipe
	for _, name := range names {
		for _, r := range plan.Recipes(exp, name) {
			if !slices.ContainsFunc(list, func(other plan.NamedRecipe) bool { return other.Name == r.Name }) {
				list = append(list, r)
			}
		}
	}
	return list, nil
}
