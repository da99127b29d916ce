package main

import (
	"bytes"
	"strings"
	"testing"

	"nines.dev/nines/terminal/command"
)

// Whoever reads the help of a verb, or an error, can type what it says.
func TestCommandsAreCalledAsUsersCallThem(t *testing.T) {
	for _, c := range []struct {
		arguments []string
		says      string
	}{
		{[]string{"--help"}, "\n  nines cluster [command]\n"},
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
