package main

import (
	"slices"
	"strings"
	"testing"
)

// TestOptionsEndAtTheCommand: what follows the command is its own, with or without "--", and nines' options may be on
// both sides of the node.
func TestOptionsEndAtTheCommand(t *testing.T) {
	for line, want := range map[string][]string{
		"a ls -d /tmp":                      {"ls", "-d", "/tmp"},
		"--lab l a ls -d /tmp":              {"ls", "-d", "/tmp"},
		"--lab l a -- ls -d /tmp":           {"ls", "-d", "/tmp"},
		"a --lab l --env A=1 -- ls --color": {"ls", "--color"},
		"a --lab l ls --lab":                {"ls", "--lab"},
		"-it a ls -it":                      {"ls", "-it"},
		"a sh -c x -- y":                    {"sh", "-c", "x", "--", "y"},
	} {
		c := newExecCommand()
		if err := c.ParseFlags(strings.Fields(line)); err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		args := c.Flags().Args()
		argv, err := commandOf(c, args[1:])
		if args[0] != "a" || !slices.Equal(argv, want) || err != nil {
			t.Errorf("%s: node %s, %q, %v; want %q", line, args[0], argv, err, want)
		}
		if lab := c.Flag("lab").Value.String(); strings.Contains(line, "--lab l") != (lab == "l") {
			t.Errorf("%s: lab %q", line, lab)
		}
	}
	for line, want := range map[string]string{"exec a --lab l": "name a command", "exec a --colour ls": "unknown flag: --colour", "exec a --": "name a command", "ssh a --colour": "unknown flag: --colour"} {
		var out, said strings.Builder
		if code := execute(strings.Fields(line), &out, &said); code != 2 || !strings.Contains(said.String(), want) {
			t.Errorf("%s: exit code %d: %s; want %q", line, code, said.String(), want)
		}
	}
}
