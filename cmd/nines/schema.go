package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// schemas are those that are printed, by name.
var schemas = map[string]func() ([]byte, error){"experiment": spec.Schema, "summary": result.SummarySchema}

func newSchemaCommand() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "schema [experiment|summary]",
		Short: "Print the JSON Schema of the experiment file, or of summary.json",
		Long: `Print the JSON Schema of the experiment file, made from the program's own types. An
editor with a YAML language server uses it to check and complete a file whose first line
names the schema.

'nines schema summary' prints that of a result's summary.json, for programs that read it.`,
		Example: `  nines schema --out nines.schema.json
  # then, as the first line of an experiment file:
  #   # yaml-language-server: $schema=nines.schema.json`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 1 || len(args) == 1 && schemas[args[0]] == nil {
				return exit.Wrongf("schema takes experiment or summary, and not %q; --out names a file", strings.Join(args, " "))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			schema, err := schemas[append(args, "experiment")[0]]()
			if err != nil {
				return err
			}
			if out != "" {
				return writeWhole(out, func(to io.Writer) error { _, err := to.Write(schema); return err })
			}
			_, err = c.OutOrStdout().Write(schema)
			return err
		},
	}
	c.Flags().StringVar(&out, "out", "", "write to this file instead of standard output")
	return c
}
