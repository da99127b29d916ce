package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestCIWantsThePublishedMeasurements: without them CI ends at once, with a line that says what is missing.
func TestCIWantsThePublishedMeasurements(t *testing.T) {
	root := t.TempDir()
	script := filepath.Join(root, "checkout", ".ci", "run")
	for _, folder := range []string{filepath.Dir(script), filepath.Join(root, "bin"), filepath.Join(root, "data", "low-latency"), filepath.Join(root, "data", "cgroups-nfv")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(script, read(t, ".ci/run"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "bin", "make"), []byte("#!/bin/sh\necho made\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for data, want := range map[string]string{
		"":                          "shared/data/low-latency is missing; NINES_PUBLISHED_DATA names their folder",
		filepath.Join(root, "none"): "none/low-latency is missing; NINES_PUBLISHED_DATA names their folder",
		filepath.Join(root, "data"): "made",
	} {
		run := exec.Command(script)
		run.Env = append(os.Environ(), "PATH="+filepath.Join(root, "bin")+":"+os.Getenv("PATH"), "NINES_PUBLISHED_DATA="+data)
		out, err := run.CombinedOutput()
		if (err == nil) != (want == "made") || !strings.Contains(string(out), want) || strings.Count(string(out), "\n") != 1 {
			t.Errorf("with %q: %v: %s", data, err, out)
		}
	}
}
