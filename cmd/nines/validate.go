package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal/command"
)

// validated is the JSON output for one file.
type validated struct {
	File    string        `json:"file"`
	Valid   bool          `json:"valid"`
	Errors  spec.Errors   `json:"errors"`
	Meaning *spec.Meaning `json:"meaning,omitempty"`
}

func newValidateCommand() *cobra.Command {
	var sets []string
	var format string
	c := &cobra.Command{
		Use:        "validate FILE|FOLDER...",
		Short:      "Check experiment files and show what they mean",
		SuggestFor: []string{"lint", "config"},
		Long: `Check experiment files without looking at the host, and show what they mean: the nodes,
the links, the runs of the sweep and how long their trials take.

nines checks the YAML, then the keys and types, then the sweep, then whether the values
fit one another. It reports all mistakes of the first step that finds any, each with its
place, what is allowed and the nearest valid key. 'nines plan' shows whether this host
can run the experiment.

- is standard input, as with every command that takes an experiment file. A folder stands for
the files in it whose names end with .yaml or .yml; those of other tools are left out.`,
		Example: `  nines validate lab.yaml
  nines validate examples/*.yaml
  nines validate examples
  generate-lab | nines validate -
  nines validate lab.yaml --set traffic.frame_bytes=1518 --set 'sweep.traffic.burst=[1, 16]'
  nines validate lab.yaml --format json`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exit.Wrongf("name at least one experiment file, such as examples/quickstart.yaml")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return validate(c, args, sets, format)
		},
	}
	c.Flags().StringArrayVar(&sets, "set", nil, "override a key of the file: KEY=VALUE (repeatable)")
	command.FormatFlag(c, &format)
	return c
}

func validate(c *cobra.Command, paths, sets []string, format string) error {
	files, inFolders, err := filesOf(paths)
	if err != nil {
		return err
	}
	all := []validated{}
	var wrong spec.Errors
	for _, path := range files {
		one := validated{File: path, Errors: spec.Errors{}}
		meaning, err := meaningOf(path, sets)
		if spec.IsForeign(err) && inFolders[path] {
			complain(c.ErrOrStderr(), "%v; it is left out", err)
			continue
		}
		if err != nil {
			found, ok := spec.AsErrors(err)
			if !ok {
				return err
			}
			one.Errors, wrong = found, append(wrong, found...)
		} else {
			one.Valid, one.Meaning = true, meaning
			if format == "table" {
				if err := meaning.Write(c.OutOrStdout()); err != nil {
					return err
				}
			}
		}
		all = append(all, one)
	}
	if format == "json" {
		if err := command.WriteJSON(c.OutOrStdout(), all); err != nil {
			return err
		}
	}
	if len(wrong) > 0 {
		return wrong
	}
	return nil
}

// filesOf are paths, with the files of each folder in its place; and which of them are in such a folder, where other
// tools may have files as well.
func filesOf(paths []string) (files []string, inFolders map[string]bool, err error) {
	inFolders = map[string]bool{}
	for _, path := range paths {
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			files = append(files, path) // what cannot be read is told of when it is read
			continue
		}
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, nil, fmt.Errorf("list the files of %s: %w", path, err)
		}
		entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
			return e.IsDir() || !slices.Contains([]string{".yaml", ".yml"}, filepath.Ext(e.Name()))
		})
		if len(entries) == 0 {
			return nil, nil, exit.Wrongf("%s has no file whose name ends with .yaml or .yml", path)
		}
		for _, e := range entries {
			file := filepath.Join(path, e.Name())
			files, inFolders[file] = append(files, file), true
		}
	}
	return files, inFolders, nil
}

// meaningOf loads, changes and checks one file.
func meaningOf(path string, sets []string) (*spec.Meaning, error) {
	f, err := loadFile(path, sets)
	if err != nil {
		return nil, err
	}
	return f.Meaning()
}
