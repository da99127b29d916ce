package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/test/golden"
)

// TestCommandsDocument: docs/commands.md repeats the help texts, verb by verb.
func TestCommandsDocument(t *testing.T) {
	var b strings.Builder
	b.WriteString(commandsIntroduction)
	for _, c := range newRootCommand().Commands() {
		describe(&b, c, "")
	}
	got := b.String()
	golden.Equal(t, filepath.Join("..", "..", "docs", "commands.md"), got) // make generate writes it
}

const commandsIntroduction = `# Commands

<!-- Written by make generate from the help texts in cmd/nines. -->

` + "`--help`" + ` shows the same text for every command. Errors go to standard error and say what to do next.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | failed |
| 2 | the file or the call is wrong |
| 3 | the host cannot do it: the error names what is missing, and how to get it |
`

// describe writes a section for a command and those below it.
func describe(b *strings.Builder, c *cobra.Command, parent string) {
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
		describe(b, sub, name)
	}
}

// TestHelpTeaches: every verb's help says what it does, and has an example.
func TestHelpTeaches(t *testing.T) {
	for _, c := range newRootCommand().Commands() {
		if c.Short == "" || c.Long == "" || c.Example == "" {
			t.Errorf("nines %s has no summary, no description or no example", c.Name())
		}
	}
}

// TestVersion: nines prints the version that the build sets.
func TestVersion(t *testing.T) {
	code, out, errors := call("--version")
	if code != exit.Done {
		t.Fatalf("exit code %d: %s", code, errors)
	}
	if want := "nines version " + version + "\n"; out != want {
		t.Errorf("nines --version prints %q, want %q", out, want)
	}
}
