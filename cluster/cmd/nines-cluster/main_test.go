package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/terminal/command"
	"nines.dev/nines/test/golden"
)

// TestCommandsDocument: docs/reference/commands.md has the help texts of each verb of nines cluster.
func TestCommandsDocument(t *testing.T) {
	var b strings.Builder
	for _, c := range newRootCommand().Commands() {
		golden.Command(&b, c, "cluster")
	}
	golden.Part(t, filepath.Join("..", "..", "..", "docs", "reference", "commands.md"), "cluster commands", strings.TrimPrefix(b.String(), "\n")) // make generate writes it
}

// TestCommandsAreCalledAsUsersCallThem: what help texts and errors show can be typed.
func TestCommandsAreCalledAsUsersCallThem(t *testing.T) {
	for _, c := range []struct {
		arguments []string
		says      string
	}{
		{[]string{"--help"}, "Usage:\n  nines cluster [flags]\n  nines cluster [command]\n"},
		{[]string{"up", "--help"}, "\n  nines cluster up [flags]\n"},
		{[]string{"explain"}, "as in: nines cluster explain cell-site"},
	} {
		var out bytes.Buffer
		command.Run(newRootCommand(), c.arguments, &out, &out)
		if !strings.Contains(out.String(), c.says) {
			t.Errorf("nines cluster %s says, without %q:\n%s", strings.Join(c.arguments, " "), c.says, &out)
		}
	}
}
