package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/exit"
	"nines.dev/nines/test/labtest"
)

// TestWithoutFilesTheLimitIsNamed: wherever open files run out while a lab comes up, the error says so and names the
// limit, nothing is called missing, and nothing is left.
func TestWithoutFilesTheLimitIsNamed(t *testing.T) {
	labtest.Root(t)
	file := filepath.Join(t.TempDir(), "lab.yaml")
	text := "name: tbfiles\ntopology:\n  nodes: {a: {}, b: {}}\n  links: [{kind: veth, endpoints: [\"a:x\", \"b:x\"]}]\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	nines, state := labtest.Nines(t), t.TempDir()
	failed := 0
	for _, files := range []string{"8", "12", "16", "20", "24"} {
		up := exec.Command("sh", "-c", "ulimit -n "+files+"; exec \"$0\" up \"$1\"", nines, file)
		up.Env = append(os.Environ(), "NINES_STATE_DIR="+state)
		said, err := up.CombinedOutput()
		if err == nil {
			down := exec.Command(nines, "down", "tbfiles")
			down.Env = up.Env
			if out, err := down.CombinedOutput(); err != nil {
				t.Errorf("%s files: down: %v: %s", files, err, out)
			}
			continue
		}
		failed++
		// With fewer than it takes to look at the host, nines cannot tell how many it lacks.
		code, text := up.ProcessState.ExitCode(), string(said)
		if lacks := strings.Contains(text, "this host lacks open files: the limit is "+files); (code != exit.Lacks || !lacks) && (code != exit.Failed || lacks) || !strings.Contains(text, "ulimit -n") {
			t.Errorf("%s files: exit code %d: %s", files, code, said)
		}
	}
	if failed == 0 {
		t.Error("no limit was too low")
	}
	if left, _ := filepath.Glob(filepath.Join(state, "labs", "*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}
