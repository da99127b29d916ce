package lab

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/spec"
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
	labtest.Root(t)
	made := filepath.Join(t.TempDir(), "made")
	text := fmt.Sprintf(scriptLab, made)
	c := newCrasherOf(t, text, strings.Replace(text, "/first", "/second", 1))
	down := func(what string) {
		t.Helper()
		c.run(0, "down", "tbscript")
		c.gone(what)
		if _, err := os.Stat(made); err == nil {
			t.Fatalf("%s: what host_setup has made is left", what)
		}
	}
	has := func(file string) bool {
		_, err := os.Stat(filepath.Join(made, file))
		return err == nil
	}
	c.killed(1, nil, []string{"up", c.whole}, func(_ int, killed bool, said string) {
		if !killed && !has("first") {
			t.Fatalf("host_setup has not run: %s", said)
		}
		down("up killed at " + said)
	})
	c.killed(1, []string{"up", c.whole}, []string{"apply", c.changed}, func(_ int, killed bool, said string) {
		if !killed && (has("first") || !has("second")) {
			t.Fatalf("apply has not run the host's scripts: %s", said)
		}
		down("apply killed at " + said)
	})
	c.killed(1, []string{"up", c.whole}, []string{"down", "tbscript"}, func(_ int, _ bool, said string) {
		down("down killed at " + said)
	})
}

// TestApplyRunsHostScriptsWithOtherTexts: the file names the same script, which is not the same.
func TestApplyRunsHostScriptsWithOtherTexts(t *testing.T) {
	labtest.Root(t)
	made := filepath.Join(t.TempDir(), "made")
	const text = "name: tbhosttext\ntopology: {nodes: {a: {}}}\nscripts: {host_setup: up.sh, host_teardown: down.sh}\n"
	scripts := spec.ScriptTexts{"up.sh": "echo first > " + made + "\n", "down.sh": "rm " + made + "\n"}
	lab, err := Up(context.Background(), UpOptions{Plan: planOf(t, text), Experiment: []byte(text), Scripts: scripts})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := Down(context.Background(), lab.Name()); err != nil {
			t.Error(err)
		}
	})
	if changes, err := lab.Changes(planOf(t, text), scripts); err != nil || !changes.Empty() {
		t.Errorf("the same scripts are other ones: %+v, %v", changes, err)
	}
	for _, other := range []spec.Script{"up.sh", "down.sh"} {
		changed := maps.Clone(scripts)
		changed[other] += "echo " + string(other) + " >> " + made + ".log\n"
		if changes, err := lab.Changes(planOf(t, text), changed); err != nil || changes.Empty() {
			t.Errorf("%s has another text: %+v, %v", other, changes, err)
		}
	}
	scripts["up.sh"] = "echo second > " + made + "\n"
	if _, err := lab.Apply(context.Background(), ApplyOptions{Plan: planOf(t, text), Experiment: []byte(text), Scripts: scripts}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(made); err != nil || string(got) != "second\n" {
		t.Errorf("host_setup has made %q, %v", got, err)
	}
}

// TestAFailedHostTeardownIsTold by an up that fails, and by the Down of a measurement's lab.
func TestAFailedHostTeardownIsTold(t *testing.T) {
	labtest.Root(t)
	const text = "name: tbhostnote\ntopology: {nodes: {a: {}}}\nscripts: {host_setup: up.sh, host_teardown: down.sh}\n"
	scripts := spec.ScriptTexts{"up.sh": "exit 1\n", "down.sh": "echo the bridge is busy; exit 1\n"}
	options := UpOptions{Plan: planOf(t, text), Experiment: []byte(text), Scripts: scripts}
	if _, err := Up(context.Background(), options); err == nil || !strings.Contains(err.Error(), "host_setup up.sh") || !strings.Contains(err.Error(), "the bridge is busy") {
		t.Errorf("up ended with %v", err)
	}
	scripts["up.sh"] = "true\n"
	var notes []string
	options.Measurement, options.Note = begin(t, options.Plan), collect(&notes)
	lab, err := Up(context.Background(), options)
	if err != nil {
		t.Fatal(err)
	}
	if err := lab.Down(context.Background()); err != nil || !strings.Contains(strings.Join(notes, "; "), "the bridge is busy") {
		t.Errorf("down left %q, %v", notes, err)
	}
}
