package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

// TestASweepGoesOnWithoutAMissingProgram runs a sweep over link kinds, some of which need programs
// that are missing.
func TestASweepGoesOnWithoutAMissingProgram(t *testing.T) {
	labtest.Root(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "sweep.yaml")
	text := `
name: leftout
topology:
  nodes: {a: {}, b: {}}
  links: [{name: wire, endpoints: ["a:eth", "b:eth"]}]
traffic: {from: "a:eth", to: "b:eth", rate_pps: 1000, duration: 200ms, warmup: 50ms, drain: 200ms}
sweep: {links.*.kind: [vpp, veth, snabb]}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	out := filepath.Join(dir, "results")
	var stdout, stderr bytes.Buffer
	if code := execute([]string{"run", file, "--out", out}, &stdout, &stderr); code != exit.Lacks {
		t.Fatalf("exit code %d, want %d: %s", code, exit.Lacks, stderr.String())
	}
	done, err := result.Open(filepath.Join(out, "latest"))
	if err != nil {
		t.Fatal(err)
	}
	if len(done.Summary.Trials) != 1 || done.Summary.Trials[0].Variables["links.*.kind"] != "veth" {
		t.Errorf("measured %+v, want veth", done.Summary.Trials)
	}
	if len(done.Summary.Skipped) != 2 {
		t.Fatalf("left out %+v, want vpp and snabb", done.Summary.Skipped)
	}
	for _, skipped := range done.Summary.Skipped {
		kind := skipped.Variables["links.*.kind"].(string)
		if !strings.Contains(skipped.Reason, "there is no "+kind) || !strings.Contains(stderr.String(), kind) {
			t.Errorf("%s was left out because %q; said was %s", kind, skipped.Reason, stderr.String())
		}
	}
	if !strings.Contains(stderr.String(), "2 of the 3 combinations were not measured") {
		t.Errorf("the last line does not say what is missing: %s", stderr.String())
	}

	stderr.Reset()
	if code := execute([]string{"run", file, "--out", out, "--set", "sweep.links.*.kind=[vpp, snabb]"}, &stdout, &stderr); code != exit.Lacks {
		t.Errorf("with nothing left to measure: exit code %d, want %d: %s", code, exit.Lacks, stderr.String())
	}
}
