package main

import (
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/test/golden"
)

// TestCommandsDocument: docs/reference/commands.md repeats the help texts, verb by verb. cluster/cmd/nines-cluster has
// its own part there.
func TestCommandsDocument(t *testing.T) {
	var b strings.Builder
	for _, c := range newRootCommand().Commands() {
		golden.Command(&b, c, "")
	}
	golden.Part(t, filepath.Join("..", "..", "docs", "reference", "commands.md"), "commands", strings.TrimPrefix(b.String(), "\n")) // make generate writes it
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
