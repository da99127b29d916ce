package main

import (
	"encoding/json"
	"io"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/terminal"
)

// formatFlag gives a verb the flag --format, and refuses other formats before the verb runs.
func formatFlag(c *cobra.Command, format *string) {
	c.Flags().StringVar(format, "format", "table", "table or json")
	c.PreRunE = func(*cobra.Command, []string) error {
		if *format != "table" && *format != "json" {
			return exit.Wrongf("--format %q is not known: table or json", *format)
		}
		return nil
	}
}

// printAs prints a value as JSON, or as the table that the function writes.
func printAs[T any](out io.Writer, format string, value T, table func(io.Writer, T) error) error {
	if format == "json" {
		return writeJSON(out, value)
	}
	return table(out, value)
}

// writeJSON prints a value as JSON in the common format of the verbs.
func writeJSON(out io.Writer, value any) error {
	e := json.NewEncoder(terminal.JSON(out))
	e.SetIndent("", "  ")
	return e.Encode(value)
}
