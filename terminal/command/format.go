package command

import (
	"encoding/json"
	"io"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/terminal"
)

// FormatFlag gives a verb the flag --format, and refuses other formats before the verb runs.
func FormatFlag(c *cobra.Command, format *string) {
	c.Flags().StringVar(format, "format", "table", "table or json")
	c.PreRunE = func(*cobra.Command, []string) error {
		if *format != "table" && *format != "json" {
			return exit.Wrongf("unknown --format %q; allowed: table, json", *format)
		}
		return nil
	}
}

// PrintAs prints a value as JSON, or as the table that the function writes.
func PrintAs[T any](out io.Writer, format string, value T, table func(io.Writer, T) error) error {
	if format == "json" {
		return WriteJSON(out, value)
	}
	return table(out, value)
}

// WriteJSON prints a value as JSON in the common format of the verbs.
func WriteJSON(out io.Writer, value any) error {
	e := json.NewEncoder(terminal.JSON(out))
	e.SetIndent("", "  ")
	return e.Encode(value)
}
