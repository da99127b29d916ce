package main

import (
	"io"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/spec"
)

func newSchemaCommand() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the experiment file",
		Long: `Print the JSON Schema of the experiment file, made from the program's own types. An
editor with a YAML language server uses it to check and complete a file whose first line
names the schema.`,
		Example: `  nines schema --out nines.schema.json
  # then, as the first line of an experiment file:
  #   # yaml-language-server: $schema=nines.schema.json`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return exit.Wrongf("schema takes no arguments, and this is %q; --out names a file", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error {
			schema, err := spec.Schema()
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
