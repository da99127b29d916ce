package lab

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/spec"
	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/labtest"
)

// TestApplyRunsHostScriptsWithOtherTexts: the file names the same script, which is not the same.
func TestApplyRunsHostScriptsWithOtherTexts(t *testing.T) {
	labtest.Root(t)
	made := filepath.Join(t.TempDir(), "made")
	const text = "name: tbhosttext\ntopology: {nodes: {a: {}}}\nscripts: {host_setup: up.sh, host_teardown: down.sh}\n"
	scripts := spec.ScriptTexts{"up.sh": "echo first > " + made + "\n", "down.sh": "rm " + made + "\n"}
	lab, err := Up(context.Background(), UpOptions{Plan: labs.Plan(t, text), Experiment: []byte(text), Scripts: scripts})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if _, err := Down(context.Background(), lab.Name()); err != nil {
			t.Error(err)
		}
	})
	if changes, err := lab.Changes(labs.Plan(t, text), scripts); err != nil || !changes.Empty() {
		t.Errorf("the same scripts are other ones: %+v, %v", changes, err)
	}
	for _, other := range []spec.Script{"up.sh", "down.sh"} {
		changed := maps.Clone(scripts)
		changed[other] += "echo " + string(other) + " >> " + made + ".log\n"
		if changes, err := lab.Changes(labs.Plan(t, text), changed); err != nil || changes.Empty() {
			t.Errorf("%s has another text: %+v, %v", other, changes, err)
		}
	}
	scripts["up.sh"] = "echo second > " + made + "\n"
	if _, err := lab.Apply(context.Background(), ApplyOptions{Plan: labs.Plan(t, text), Experiment: []byte(text), Scripts: scripts}); err != nil {
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
	options := UpOptions{Plan: labs.Plan(t, text), Experiment: []byte(text), Scripts: scripts}
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
