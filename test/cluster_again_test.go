package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestClusterTestsThatFailRunAgain runs hack/test-cluster.sh with a gotestsum that leaves recorded
// events, and notes what it is called with.
func TestClusterTestsThatFailRunAgain(t *testing.T) {
	script, err := os.ReadFile("../hack/test-cluster.sh")
	if err != nil {
		t.Fatal(err)
	}
	event := func(action, in, test string) string {
		head := `{"Time":"2026-11-23T20:00:00.5Z","Action":"` + action + `","Package":"` + in + `"`
		if test != "" {
			head += `,"Test":"` + test + `"`
		}
		return head + `,"Elapsed":1.5}` + "\n"
	}
	// What a test prints is no event, whatever it looks like.
	output := `{"Time":"2026-11-23T20:00:00.5Z","Action":"output","Package":"c/a","Test":"TestGood","Output":"{\"Action\":\"fail\",\"Package\":\"c/x\",\"Test\":\"TestX\"}\n"}` + "\n"
	output += `{"Time":"2026-11-23T20:00:00.5Z","Action":"output","Package":"nines.dev/nines/c/a","Test":"TestData/sub","Output":"    a_test.go:7: missing: data (of others)\n"}` + "\n"
	failed := output + event("pass", "c/a", "TestGood") + event("fail", "c/a", "TestOne/sub") + event("fail", "c/a", "TestOne") + event("fail", "c/a", "") + event("pass", "c/b", "")
	guarantee := strings.TrimSuffix(event("output", "c/a", "TestKilled"), `"Elapsed":1.5}`+"\n") + `"Output":"    x_test.go:7: tests a guarantee: a failure is not repeated\n"}` + "\n" +
		event("fail", "c/a", "TestKilled")
	for name, one := range map[string]struct {
		events string
		first  string // exit code
		then   string
		again  string // what gotestsum is called with then; empty if it is not
		passes bool
	}{
		"all pass":                       {output, "0", "1", "", true},
		"one passes when run again":      {failed, "1", "0", "-p 1 -run ^(TestOne)$ c/a", true},
		"two of two packages":            {failed + event("fail", "c/d", "TestTwo") + event("fail", "c/d", ""), "1", "0", "-p 1 -run ^(TestOne|TestTwo)$ c/a c/d", true},
		"it fails again":                 {failed, "1", "1", "-p 1 -run ^(TestOne)$ c/a", false},
		"one of two is a guarantee":      {guarantee + failed, "1", "0", "-p 1 -run ^(TestOne)$ c/a", false},
		"a guarantee alone":              {guarantee + event("fail", "c/a", ""), "1", "0", "", false},
		"another package does not build": {failed + event("fail", "c/d", ""), "1", "0", "", false},
		"nothing builds":                 {event("fail", "c/d", ""), "1", "0", "", false},
		"too many":                       {strings.Repeat(event("fail", "c/a", "TestOne"), 5) + event("fail", "c/a", ""), "1", "0", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			write := func(path, text string) string {
				t.Helper()
				path = filepath.Join(root, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
				return path
			}
			write("cluster/go.mod", "")
			write("events", one.events)
			run := write("hack/test-cluster.sh", string(script))
			write("hack/go", "#!/bin/sh\necho "+root+"/gotestsum\n")
			write("gotestsum", "#!/bin/bash\nwhile [ \"$1\" != --jsonfile ]; do shift; done\n"+
				"case $2 in *-again.events) echo \"${@:4}\" >"+root+"/again; exit "+one.then+" ;; esac\ncp "+root+"/events \"$2\"; exit "+one.first+"\n")
			cmd := exec.Command(run)
			cmd.Env = append(os.Environ(), "NINES_LONG=", "NINES_REQUIRE=") // the long form's time limit is longer
			out, err := cmd.CombinedOutput()
			if (err == nil) != one.passes {
				t.Errorf("%v: %s", err, out)
			}
			if told := strings.Contains(string(out), "left out without data (of others): c/a TestData\n"); told != strings.Contains(one.events, "missing: data") {
				t.Errorf("that a test lacks data is told: %v: %s", told, out)
			}
			text, _ := os.ReadFile(filepath.Join(root, "again")) // without it nothing was run again
			_, called, _ := strings.Cut(strings.TrimSpace(string(text)), "-timeout 60m ")
			if called != one.again || strings.Contains(string(out), "again: TestOne") != (one.again != "") {
				t.Errorf("run again is %q, and not %q: %s", called, one.again, out)
			}
		})
	}
}
