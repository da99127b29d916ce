package main

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"nines.dev/nines/draft"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

func newInitCommand() *cobra.Command {
	var words draft.Options
	c := &cobra.Command{
		Use:   "init [NAME] [WORD...] [-- ARGUMENT...]",
		Short: "Write a first experiment file, with comments",
		Long: `Write an experiment file to begin with: NAME.yaml, or lab.yaml without a NAME. It never
overwrites a file. NAME may have a folder and end in .yaml; "-" prints the file.

Without words it compares two kinds of link, side by side. Words and flags are those of
'nines try': the file is what it would measure. 'nines validate' shows what a file means,
'nines plan' what becomes of it on this host, and 'nines run' measures it.`,
		Example: `  nines init                                  # lab.yaml: veth and bridge, side by side
  nines init links veth bridge xdp            # links.yaml: three kinds of link, in turn
  nines init mine --service ./my-forwarder    # a program of yours as the device
  nines init load veth --rate 10k..1M
  nines init - | less`,
		RunE: func(c *cobra.Command, args []string) error {
			path := "lab.yaml"
			args, words.Arguments = wordsOf(c, args)
			if len(args) > 0 && !isWord(args[0]) {
				path, args = args[0], args[1:]
			}
			words.Words = args
			if path != "-" && filepath.Ext(path) != ".yaml" && filepath.Ext(path) != ".yml" {
				path += ".yaml"
			}
			name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
			if path == "-" {
				name = "lab"
			}
			d, err := newDraft(words, name, c.ErrOrStderr())
			if err != nil {
				return err
			}
			shown := path
			if path == "-" {
				shown = "lab.yaml"
			}
			file, err := spec.Load(shown, d.Text(shown))
			if err != nil {
				return err
			}
			if _, err := file.Runs(); err != nil {
				return err
			}
			if path == "-" {
				_, err := c.OutOrStdout().Write(file.Raw())
				return err
			}
			if err := writeNew(path, file); err != nil {
				return err
			}
			_, err = terminal.Printf(c.OutOrStdout(), "wrote %s; measure it: nines run %[1]s\n", path)
			return err
		},
	}
	draftFlags(c, &words)
	return c
}

// isWord is true for what 'nines init' takes as a word, and not as the file's name.
func isWord(arg string) bool {
	name, _, _ := strings.Cut(arg, ":")
	return draft.IsLink(name) || draft.IsRuntime(name)
}
