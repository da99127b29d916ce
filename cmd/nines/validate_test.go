package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	folder := t.TempDir()
	wrong := filepath.Join(folder, "wrong.yaml")
	if err := os.WriteFile(wrong, []byte("name: lab\ntopology:\n  nodes:\n    a: {runtim: lxc}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name           string
		args           []string
		code           int
		stdout, stderr string // what must be in them
	}{
		{"valid", []string{quickstartFile}, 0, "36 (runs 6, repeat 6)", ""},
		{"set", []string{quickstartFile, "--set", "traffic.rate_pps=1000", "--set", "repeat=1"}, 0, "3 (runs 3, repeat 1)", ""},
		{"wrong", []string{wrong}, 2, "", wrong + `:4:9: topology.nodes.a.runtim: unknown key; did you mean "runtime"?`},
		{"valid and wrong", []string{quickstartFile, wrong}, 2, quickstartFile + ": valid", wrong + ":4:9: "},
		{"wrong set", []string{quickstartFile, "--set", "traffic.rate=1"}, 2, "", `--set traffic.rate=1: traffic.rate: unknown key "rate"`},
		{"absent", []string{filepath.Join(folder, "absent.yaml")}, 2, "", "absent.yaml: cannot be read: no such file or directory"},
		{"folder", []string{folder}, 2, "", wrong + ":4:9: "},
		{"no file", nil, 2, "", "name at least one experiment file"},
		{"format", []string{quickstartFile, "--format", "xml"}, 2, "", `unknown --format "xml"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			code, stdout, stderr := call(append([]string{"validate"}, c.args...)...)
			if code != c.code || !strings.Contains(stdout, c.stdout) || !strings.Contains(stderr, c.stderr) || (code == 0) != (stderr == "") {
				t.Errorf("exit code %d, want %d\nstdout: %s\nstderr: %s", code, c.code, stdout, stderr)
			}
		})
	}
}

func TestValidateJSON(t *testing.T) {
	wrong := filepath.Join(t.TempDir(), "wrong.yaml")
	if err := os.WriteFile(wrong, []byte("name: lab\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	code, stdout, _ := call("validate", "--format", "json", quickstartFile, wrong)
	var files []struct {
		Valid  bool
		Errors []struct {
			Line    int
			Problem string
		}
		Meaning *struct {
			Trials           int
			TrialTimeSeconds float64 `json:"trial_time_seconds"`
		}
	}
	if err := json.Unmarshal([]byte(stdout), &files); err != nil {
		t.Fatalf("%v\n%s", err, stdout)
	}
	if code != 2 || len(files) != 2 || !files[0].Valid || files[0].Meaning.Trials != 36 || files[0].Meaning.TrialTimeSeconds != 72 {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
	if files[1].Valid || files[1].Meaning != nil || len(files[1].Errors) != 1 || files[1].Errors[0].Line != 1 {
		t.Errorf("the wrong file: %s", stdout)
	}
}

func TestSchema(t *testing.T) {
	code, stdout, stderr := call("schema")
	var schema map[string]any
	if err := json.Unmarshal([]byte(stdout), &schema); err != nil || code != 0 || stderr != "" {
		t.Fatalf("exit code %d, %v, %s", code, err, stderr)
	}
	out := filepath.Join(t.TempDir(), "nines.schema.json")
	if code, printed, stderr := call("schema", "--out", out); code != 0 || printed != "" {
		t.Fatalf("exit code %d, %s%s", code, printed, stderr)
	}
	written, err := os.ReadFile(out)
	if err != nil || string(written) != stdout {
		t.Errorf("the file differs from what is printed: %v", err)
	}
	if code, _, _ := call("schema", "--out", filepath.Join(out, "below")); code != 1 {
		t.Errorf("a path that cannot be written: exit code %d, want 1", code)
	}
	if code, printed, _ := call("schema", "summary"); code != 0 || !strings.Contains(printed, "nines/result/v1") {
		t.Errorf("of the summary: exit code %d, %s", code, printed)
	}
	if code, printed, _ := call("schema", "experiment"); code != 0 || printed != stdout {
		t.Errorf("by name: exit code %d", code)
	}
	if code, _, _ := call("schema", "extra"); code != 2 {
		t.Errorf("an argument: exit code %d, want 2", code)
	}
}
