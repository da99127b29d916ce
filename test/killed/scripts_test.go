package killed

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/test/labtest"
)

// A host_setup makes a folder, step by step, which the host_teardown removes; the node has a folder
// of scripts.
const scriptLab = `
name: tbscript
topology: {nodes: {a: {scripts: {setup: "true\n\n"}}, b: {}}}
scripts:
  host_setup: |
    mkdir -p %[1]s
    touch %[1]s/first
  host_teardown: |
    rm -rf %[1]s
    echo gone
`

// TestHostScriptsAreUndoneAfterEveryKill kills up, apply and down at their steps, where apply changes
// the host's scripts and so makes the lab again. After down nothing is there that a script or nines
// has made.
func TestHostScriptsAreUndoneAfterEveryKill(t *testing.T) {
	labtest.Guarantee(t)
	labtest.Experiment(t)
	made := filepath.Join(t.TempDir(), "made")
	text := fmt.Sprintf(scriptLab, made)
	c := New(t, text, strings.Replace(text, "/first", "/second", 1))
	down := func(what string) {
		t.Helper()
		c.Run(0, "down", "tbscript")
		c.Gone(what)
		if _, err := os.Stat(made); err == nil {
			t.Fatalf("%s: what host_setup has made is left", what)
		}
	}
	has := func(file string) bool {
		_, err := os.Stat(filepath.Join(made, file))
		return err == nil
	}
	c.Killed(1, nil, []string{"up", c.Whole}, func(_ int, killed bool, said string) {
		if !killed && !has("first") {
			t.Fatalf("host_setup has not run: %s", said)
		}
		down("up killed at " + said)
	})
	c.Killed(1, []string{"up", c.Whole}, []string{"apply", c.Changed}, func(_ int, killed bool, said string) {
		if !killed && (has("first") || !has("second")) {
			t.Fatalf("apply has not run the host's scripts: %s", said)
		}
		down("apply killed at " + said)
	})
	c.Killed(1, []string{"up", c.Whole}, []string{"down", "tbscript"}, func(_ int, _ bool, said string) {
		down("down killed at " + said)
	})
}
