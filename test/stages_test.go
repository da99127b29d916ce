package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestStagesEndWithWhatFailed runs hack/stages.sh with a make that prints recorded logs:
// a reader who has only the end of a log must find there which tests failed, and why.
func TestStagesEndWithWhatFailed(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("make", "#!/bin/sh\ncat \"$1.log\"\ncase $1 in good|twice|vm) ;; *) exit 1 ;; esac\n", 0o755)
	write("good.log", "DONE 3 tests in 1.0s\nleft out without published measurements: a/b TestPublished\n", 0o644)
	write("go.log", "✖  a/b (14ms)\n\n=== Failed\n"+
		"=== FAIL: a/b TestWaits/long (3.00s)\n"+strings.Repeat("    noise\n", 50)+"    b_test.go:7: it did not come\n\n"+
		"=== FAIL: a/b TestWaits (3.00s)\n\n"+
		"=== FAIL: a/b TestPanics (0.00s)\npanic: index out of range\n\n"+strings.Repeat("frame\n", 50)+"\n"+
		"DONE 952 tests, 3 failures in 212.3s\nmake: *** [Makefile:1: go] Error 1\n", 0o644)
	write("many.log", "=== Failed\n"+strings.Repeat("=== FAIL: a/b TestOfMany (0.00s)\n    line\n    line\n    line\n\n", 30)+
		"=== FAIL: a/b TestTheLastOfMany (0.00s)\n\nDONE 31 tests, 31 failures in 1.0s\n", 0o644)
	write("c.log", "[  FAILED  ] histogram_counts\n[  PASSED  ] 3 test(s).\n[  FAILED  ] 1 test(s), listed below:\n"+
		"lint: FAIL errcheck\n✖ draws a chart (2.1ms)\nnot ok 3 - reads a log\n", 0o644)
	sometimes := "=== Failed\n=== FAIL: a/b TestSometimes/sub (0.00s)\n    b_test.go:9: too early\n\n=== FAIL: a/b TestSometimes (0.00s)\n\n" +
		"DONE 7 tests, 1 skipped, 2 failures in 1.0s\nagain: a/b\n"
	write("twice.log", sometimes+"DONE 4 tests, 1 skipped in 1.0s\n", 0o644)
	write("never.log", sometimes+"DONE 4 tests, 1 skipped, 1 failure in 1.0s\n", 0o644)
	write("vm.log", "DONE 5 tests in 9.0s\nmechanism  result\nvm main: AGAIN TestLabTuneKilled\n    tuning_test.go:138: not empty\n", 0o644)
	write("odd.log", strings.Repeat("noise\n", 30)+"cc: error: no such file\n", 0o644)

	script, err := filepath.Abs("../hack/stages.sh")
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command(script, "good", "go", "many", "twice", "never", "vm", "c", "odd")
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
		"left out without published measurements: a/b TestPublished",
		"failed in go", "a/b TestWaits/long (3.00s)", "b_test.go:7: it did not come", "a/b TestPanics", "panic: index out of range",
		"failed in many", "a/b TestTheLastOfMany",
		"failed in c", "histogram_counts", "lint: FAIL errcheck", "✖ draws a chart", "not ok 3 - reads a log",
		"passed only when run again, in twice", "a/b TestSometimes/sub", "b_test.go:9: too early",
		"passed only when run again, in vm", "vm main: AGAIN TestLabTuneKilled", "tuning_test.go:138: not empty",
		"failed in odd", "cc: error: no such file",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("the end of the output lacks %q:\n%s", want, table)
		}
	}
	if strings.Contains(table, "in good") {
		t.Error("a good stage is said to have failed")
	}
	for _, row := range []string{"good ok 3 0 0 0", "go FAILED 949 3 0 0", "twice ok 6 0 2 1", "never FAILED 5 1 1 1", "vm ok 5 0 1 0"} {
		stage, rest, _ := strings.Cut(row, " ")
		result, counts, _ := strings.Cut(rest, " ")
		pattern := `(?m)^` + stage + ` +` + result + ` +\d+ +\d+ +` + strings.ReplaceAll(counts, " ", " +") + `$`
		if !regexp.MustCompile(pattern).MatchString(table) {
			t.Errorf("no row like %s (seconds, cpu, passed, failed, again, skipped):\n%s", row, table)
		}
	}
	if lines := strings.Count(table, "\n"); lines > 100 {
		t.Errorf("the end of the output has %d lines", lines)
	}
}

// TestStagesThatAreLeftOutDoNotRun: what has nothing to do has a row, and what says why is shown.
func TestStagesThatAreLeftOutDoNotRun(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"make":                  "#!/bin/sh\necho \"made $1\"\n",
		"build/selection/table": "left out, as it has passed: lab\n",
	} {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = os.WriteFile(path, []byte(text), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	script, err := filepath.Abs("../hack/stages.sh")
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command(script, "build", "[", "test-web", ",", "test-vm", "]")
	run.Dir = dir
	run.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "LEFT_OUT=images test-vm")
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for want, there := range map[string]bool{"made build": true, "made test-web": true, "made test-vm": false, "left out, as it has passed: lab": true} {
		if strings.Contains(string(out), want) != there {
			t.Errorf("%q is among the output: %v\n%s", want, !there, out)
		}
	}
	if !regexp.MustCompile(`(?m)^test-vm +left-out `).Match(out) {
		t.Errorf("the table does not say that a stage is left out:\n%s", out)
	}
}
