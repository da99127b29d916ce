package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/exit"
)

// TestHabitsLeadToWhatIsMeant: what users of other programs type is refused in one line that has the command meant.
func TestHabitsLeadToWhatIsMeant(t *testing.T) {
	t.Setenv("NINES_STATE_DIR", t.TempDir())
	for line, meant := range map[string]string{
		"valdate lab.yaml":       "did you mean 'nines validate'?",
		"deploy -t lab.yaml":     "did you mean 'nines up'?",
		"destroy --all":          "did you mean 'nines down'?",
		"status":                 "did you mean 'nines ls' or 'nines inspect'?",
		"man up":                 "did you mean 'nines help'?",
		"images":                 "did you mean 'nines image ls'?",
		"query":                  "did you mean 'nines results query'?",
		"image biuld":            "did you mean 'nines image build'?",
		"xyzzy":                  `unknown command "xyzzy" for "nines"; 'nines --help' lists the commands`,
		"help valdate":           "did you mean 'nines validate'?",
		"help image biuld":       "did you mean 'nines image build'?",
		"ls lab":                 `ls takes no argument, and got "lab"`,
		"up -f lab.yaml":         "the file is an argument, as in 'nines up FILE'",
		"exec --all":             "name a command",
		"up lab.yaml --dry-ru":   "did you mean --dry-run?",
		"export --format hlgo x": `did you mean "hlog"? allowed:`,
	} {
		code, out, said := call(strings.Fields(line)...)
		if code != exit.Wrong || out != "" || !strings.Contains(said, meant) || strings.Count(said, "\n") != 1 {
			t.Errorf("nines %s: exit code %d, prints %q, says %q; want %q", line, code, out, said, meant)
		}
	}
	if code, out, said := call("version"); code != exit.Done || out != "nines version "+version+"\n" {
		t.Errorf("nines version: exit code %d, %q, %q", code, out, said)
	}
}

// TestValidateTakesAFolder: it stands for its experiment files; those of other tools in it are named, and left out.
func TestValidateTakesAFolder(t *testing.T) {
	dir := t.TempDir()
	if code, _, said := call("validate", dir); code != exit.Wrong || !strings.Contains(said, "has no file whose name ends with .yaml or .yml") {
		t.Errorf("an empty folder: exit code %d, %q", code, said)
	}
	for name, text := range map[string]string{
		"a.yaml":      "name: a\ntopology: {nodes: {a: {}}}\n",
		"b.yml":       "name: b\ntopology: {nodes: {b: {}}}\n",
		"compose.yml": "services: {web: {image: nginx}}\n",
		"notes.txt":   "no experiment",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	code, out, said := call("validate", dir)
	if code != exit.Done || strings.Count(out, ": valid") != 2 || !strings.Contains(said, "is a Docker Compose file") || strings.Count(said, "\n") != 1 {
		t.Errorf("exit code %d, prints %q, says %q", code, out, said)
	}
	if code, _, said := call("validate", filepath.Join(dir, "compose.yml")); code != exit.Wrong || !strings.Contains(said, "is a Docker Compose file") {
		t.Errorf("a file of another tool: exit code %d, %q", code, said)
	}
}

// TestOneLab: a lab may be named as the argument or by --lab, and not as two.
func TestOneLab(t *testing.T) {
	t.Setenv("NINES_STATE_DIR", t.TempDir())
	for line, want := range map[string]string{
		"check a --lab b":        `the argument names lab "a", and --lab "b"; name it once`,
		"check a --lab a":        `lab "a" does not exist`,
		"inspect --lab a":        `lab "a" does not exist`,
		"power --lab a b off":    `lab "a" does not exist`,
		"power --lab a --lab= b": "the lab's name is empty",
	} {
		if code, _, said := call(strings.Fields(line)...); code != exit.Wrong || !strings.Contains(said, want) {
			t.Errorf("nines %s: exit code %d, %q; want %q", line, code, said, want)
		}
	}
}
