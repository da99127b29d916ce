package main

import (
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
		Use:   "validate FILE...",
		Short: "Check experiment files and show what they mean",
		Long: `Check experiment files without looking at the host, and show what they mean: the nodes,
the links, the runs of the sweep and how long their trials take.

nines checks the YAML, then the keys and types, then the sweep, then whether the values
fit one another. It reports all mistakes of the first step that finds any, each with its
place, what is allowed and the nearest valid key. 'nines plan' shows whether this host
can run the experiment.`,
		Example: `  nines validate lab.yaml
  nines validate examples/*.yaml
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
	all := []validated{}
	var wrong spec.Errors
	for _, path := range paths {
		one := validated{File: path, Errors: spec.Errors{}}
		meaning, err := meaningOf(path, sets)
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

// meaningOf loads, changes and checks one file.
func meaningOf(path string, sets []string) (*spec.Meaning, error) {
	f, err := loadFile(path, sets)
	if err != nil {
		return nil, err
	}
	return f.Meaning()
}
