package golden

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// Command writes a section for a command and those below it, from their help texts. A hidden command has
// none. Parent is what a user types before the command's name, without nines.
func Command(b *strings.Builder, c *cobra.Command, parent string) {
	if c.Hidden || !c.IsAvailableCommand() {
		return
	}
	name := strings.TrimSpace(parent + " " + c.Name())
	long := c.Long
	if long == "" {
		long = c.Short + "."
	}
	fmt.Fprintf(b, "\n## %s\n\n%s\n\n    %s\n", name, strings.TrimSpace(long), c.UseLine())
	if c.Example != "" {
		fmt.Fprintf(b, "\nExamples:\n\n```\n%s\n```\n", strings.TrimRight(c.Example, "\n"))
	}
	if flags := c.LocalFlags().FlagUsages(); flags != "" {
		fmt.Fprintf(b, "\nFlags:\n\n```\n%s```\n", flags)
	}
	for _, sub := range c.Commands() {
		Command(b, sub, name)
	}
}
