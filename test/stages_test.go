package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestStagesEndWithWhatFailed runs hack/stages.sh with a make that prints recorded logs:
// who has only the end of a log must find there which tests failed, and why.
func TestStagesEndWithWhatFailed(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("make", "#!/bin/sh\ncat \"$1.log\"\ntest \"$1\" = good\n", 0o755)
	write("good.log", "DONE 3 tests in 1.0s\n", 0o644)
	write("go.log", "✖  a/b (14ms)\n\n=== Failed\n"+
		"=== FAIL: a/b TestWaits/long (3.00s)\n"+strings.Repeat("    noise\n", 50)+"    b_test.go:7: it did not come\n\n"+
		"=== FAIL: a/b TestWaits (3.00s)\n\n"+
		"=== FAIL: a/b TestPanics (0.00s)\npanic: index out of range\n\n"+strings.Repeat("frame\n", 50)+"\n"+
		"DONE 952 tests, 3 failures in 212.3s\nmake: *** [Makefile:1: go] Error 1\n", 0o644)
	write("many.log", "=== Failed\n"+strings.Repeat("=== FAIL: a/b TestOfMany (0.00s)\n    line\n    line\n    line\n\n", 30)+
		"=== FAIL: a/b TestTheLastOfMany (0.00s)\n\nDONE 31 tests, 31 failures in 1.0s\n", 0o644)
	write("c.log", "[  FAILED  ] histogram_counts\n[  PASSED  ] 3 test(s).\n[  FAILED  ] 1 test(s), listed below:\n"+
		"lint: FAIL errcheck\n✖ draws a chart (2.1ms)\nnot ok 3 - reads a log\n", 0o644)
	write("odd.log", strings.Repeat("noise\n", 30)+"cc: error: no such file\n", 0o644)

	script, err := filepath.Abs("../hack/stages.sh")
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command(script, "good", "go", "many", "c", "odd")
	run.Dir = dir
	run.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	out, err := run.CombinedOutput()
	if err == nil {
		t.Error("stages that fail were taken for good")
	}
	_, table, found := strings.Cut(string(out), "\nstage ")
	if !found {
		t.Fatalf("no table in %s", out)
	}
	for _, want := range []string{
		"failed in go", "a/b TestWaits/long (3.00s)", "b_test.go:7: it did not come", "a/b TestPanics", "panic: index out of range",
		"failed in many", "a/b TestTheLastOfMany",
		"failed in c", "histogram_counts", "lint: FAIL errcheck", "✖ draws a chart", "not ok 3 - reads a log",
		"failed in odd", "cc: error: no such file",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("the end of the output lacks %q:\n%s", want, table)
		}
	}
	if strings.Contains(table, "failed in good") {
		t.Error("a good stage is said to have failed")
	}
	if lines := strings.Count(table, "\n"); lines > 100 {
		t.Errorf("the end of the output has %d lines", lines)
	}
}
