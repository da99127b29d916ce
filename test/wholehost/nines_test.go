package wholehost

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/test/labs"
	"nines.dev/nines/test/traces"
)

// command is a call of nines in the laboratory.
func command(arguments ...string) *exec.Cmd {
	return exec.Command(filepath.Join(os.Getenv("NINES_LIBEXEC"), "nines"), arguments...)
}

// nines runs a verb, or fails the test.
func nines(t *testing.T, arguments ...string) string {
	t.Helper()
	out, err := command(arguments...).CombinedOutput()
	if err != nil {
		t.Fatalf("nines %s: %v: %s", strings.Join(arguments, " "), err, out)
	}
	return string(out)
}

// isolatedLab is labs.Isolated with a name of its own, and more.
func isolatedLab(t *testing.T, more string) (file string) {
	t.Helper()
	return write(t, strings.Replace(labs.Isolated, "name: tbisolated", "name: tbalone", 1)+more)
}

// write writes the file of an experiment.
func write(t *testing.T, text string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "lab.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// gone takes down what an up that was killed has made of a lab, if anything.
func gone(t *testing.T, lab string) {
	t.Helper()
	if out, err := command("down", lab).CombinedOutput(); err != nil && !strings.Contains(string(out), "does not exist") {
		t.Fatalf("nines down %s: %v: %s", lab, err, out)
	}
}

// wholeHost is a snapshot of the host, and every setting of the catalogue.
func wholeHost(t *testing.T) (traces.Snapshot, map[string]string) {
	t.Helper()
	return traces.TakeSnapshot(t), traces.Tunable(t)
}
