package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"nines.dev/nines/draft"
	"nines.dev/nines/exit"
	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

func TestTryRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	wantRefusals(t, "try", map[string]string{
		"vteh":                         `did you mean "veth"?`,
		"--service ./none":             "does not exist",
		"--leaves reflected --service": "flag needs an argument",
		"--leaves reflected":           "allowed: unchanged, forwarded",
		"--rate 5..1":                  "from the smaller to the larger",
		"veth:groo=true":               `did you mean "gro"?`,
		"veth --set trafic.frames=1":   "did you mean",
		"veth --frame 9":               "(nines try):",
	})
}

// TestInitWritesAFirstFile which is valid, and is never overwritten.
func TestInitWritesAFirstFile(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("fwd", []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for file, args := range map[string][]string{
		"lab.yaml": {}, "links.yaml": {"links", "veth", "bridge", "xdp"}, "mine.yml": {"mine.yml", "--service", "./fwd"}, "load.yaml": {"load", "--rate", "1k..1M"},
	} {
		if code, _, said := call(append([]string{"init"}, args...)...); code != exit.Done {
			t.Fatalf("init %q: exit code %d, %s", args, code, said)
		}
		if code, out, said := call("validate", file); code != exit.Done || !strings.Contains(out, strings.TrimSuffix(file, filepath.Ext(file))) {
			t.Errorf("validate %s: exit code %d, %s%s", file, code, out, said)
		}
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if code, _, said := call(append([]string{"init"}, args...)...); code != exit.Wrong || !strings.Contains(said, file+" is there already") {
			t.Errorf("init %q once more: exit code %d, %s", args, code, said)
		}
		if after, err := os.ReadFile(file); err != nil || string(after) != string(before) {
			t.Errorf("%s was changed (%v)", file, err)
		}
	}
	if code, out, said := call("init", "-"); code != exit.Done || !strings.Contains(out, "nines run lab.yaml") {
		t.Errorf("exit code %d, %s%s", code, out, said)
	}
	wantRefusals(t, "init", map[string]string{"new vteh": `did you mean "veth"?`, "A_B": "name", "none/new": "its folder does not exist"})
}

// TestASavedFileIsWhatWasMeasured and is measured again as it is.
func TestASavedFileIsWhatWasMeasured(t *testing.T) {
	labtest.Experiment(t)
	dir := t.TempDir()
	saved, out := filepath.Join(dir, "saved.yaml"), filepath.Join(dir, "results")
	if code, _, said := call("try", "netns", "--rate", "1k", "--for", "200ms", "--repeat", "1", "--set", "name=saved-try", "--set", "traffic.warmup=50ms", "--save", saved, "--out", out); code != exit.Done && !labtest.NoneValid(said) {
		t.Fatalf("exit code %d, %s", code, said)
	}
	text, err := os.ReadFile(saved)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(filepath.Join(out, "latest", result.ExperimentFile))
	if err != nil || string(kept) != string(text) || !strings.Contains(string(text), "#     loadgen:tx ──in──") {
		t.Errorf("saved %s\n%v\nmeasured %s", text, err, kept)
	}
	if code, out, said := call("run", saved, "--out", out, "--quiet"); !labtest.NoneValid(said) && (code != exit.Done || said != "") || !strings.Contains(out, "received") {
		t.Errorf("run --quiet: exit code %d, %s%s", code, out, said)
	}
	_, summary, said := call("run", saved, "--out", out, "--format", "json")
	for line := range strings.Lines(said) {
		if !json.Valid([]byte(line)) || !strings.HasPrefix(line, `{"event":`) {
			t.Errorf("progress as JSON: %s", line)
		}
	}
	if !json.Valid([]byte(summary)) || !strings.Contains(said, `"event":"ended"`) {
		t.Errorf("%s%s", summary, said)
	}
}

// TestWhatCannotStandSideBySideTakesTurns: the host has the CPUs for one of two programs.
func TestWhatCannotStandSideBySideTakesTurns(t *testing.T) {
	labtest.Root(t)
	t.Chdir(t.TempDir())
	if err := os.WriteFile("fwd", []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for sets, want := range map[string]struct{ duet, said bool }{
		"": {duet: true}, fmt.Sprintf("nodes.dut.cpus=%d", runtime.NumCPU()-1): {said: true},
	} {
		d, err := draft.New(draft.Options{Name: "turns", Programs: []string{"./fwd 1", "./fwd 2"}})
		if err != nil {
			t.Fatal(err)
		}
		call := tryCall{}
		if sets != "" {
			call.sets = []string{sets}
		}
		var said strings.Builder
		file, err := call.planned(t.Context(), d, &said)
		if err != nil {
			t.Fatalf("%s: %v", sets, err)
		}
		runs, err := file.Runs()
		if err != nil {
			t.Fatal(err)
		}
		if isDuet := runs[0].Experiment.Duet != nil; isDuet != want.duet || strings.Contains(said.String(), "they take turns") != want.said {
			t.Errorf("%q: a duet %v, said %q", sets, isDuet, said.String())
		}
	}
}
