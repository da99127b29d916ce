package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"nines.dev/nines/exit"
	"nines.dev/nines/measure/stall"
	"nines.dev/nines/report/explain"
	"nines.dev/nines/test/labtest"
)

func TestTraceRefusesWrongCalls(t *testing.T) {
	wantRefusals(t, "trace", map[string]string{
		"record":                                  "a command behind --, or --pid PID",
		"record --pid 1 -- true":                  "not both",
		"record --pid -3":                         "the number of a process",
		"record --pid 999999999":                  "the process does not exist",
		"record -- /does/not/exist":               "cannot be run",
		"record --threshold 10ns -- true":         "at least 1us",
		"record --worst 0 -- true":                "from 1 to 10000",
		"record --buffer 1KiB -- true":            "from 64KiB to 1GiB",
		"record --buffer much -- true":            "--buffer",
		"record --format xml -- true":             "table, json",
		"record --duration -1s -- true":           "a time that has passed",
		"jitter":                                  "--cpus 2-3",
		"jitter --cpus 4000":                      "CPU 4000 is not online",
		"jitter --cpus 0 --duration 10ms":         "too short",
		"jitter --cpus 0 --fifo 100":              "from 1 to 99",
		"jitter 2":                                "takes no argument",
		"jiter":                                   "jiter",
		"record --cpus x -- true":                 "not a CPU number",
		"jitter --cpus 0 --threshold 1 --fifo -1": "--threshold",
	})
}

// TestTraceRecordsACommand: its output does not mix with the JSON, its failure is reported, and the
// result can be explained.
func TestTraceRecordsACommand(t *testing.T) {
	labtest.Root(t)
	dir := t.TempDir()
	var out, errOut bytes.Buffer
	script := `i=0; while [ $i -lt 50 ]; do sleep 0.01; i=$((i+1)); done; echo said; exit 3`
	code := execute([]string{"trace", "record", "--out", dir, "--threshold", "1us", "--format", "json", "--", "sh", "-c", script}, &out, &errOut)
	if code != exit.Failed || !strings.Contains(errOut.String(), "exit status 3") || !strings.Contains(errOut.String(), "said\n") {
		t.Errorf("exit code %d: %s", code, errOut.String())
	}
	var r stall.Report
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	if r.Schema != stall.Schema || len(r.Subjects) == 0 || len(r.Causes) == 0 || r.Causes[0].Sentence == "" || r.ThresholdNs != 1000 || r.Elapsed < 500*time.Millisecond {
		t.Errorf("%s", out.String())
	}
	if page, err := os.ReadFile(filepath.Join(r.Folder, "report.html")); err != nil || !bytes.Contains(page, []byte("trace-sh")) {
		t.Errorf("the page: %v", err)
	}
	out.Reset()
	if code := execute([]string{"explain", filepath.Join(dir, "latest"), "--format", "json"}, &out, &errOut); code != exit.Done {
		t.Fatalf("exit code %d: %s", code, errOut.String())
	}
	var shown explain.Shown
	if err := json.Unmarshal(out.Bytes(), &shown); err != nil || len(shown.Causes.Ranking) == 0 {
		t.Errorf("%v: %s", err, out.String())
	}
}

// TestCtrlCEndsATraceWithItsReport, and its command with it.
func TestCtrlCEndsATraceWithItsReport(t *testing.T) {
	labtest.Root(t)
	s := newShell(t)
	for _, arguments := range [][]string{
		{"trace", "jitter", "--cpus", "0", "--duration", "1h", "--out", ""},
		{"trace", "record", "--out", "", "--", "sleep", "3600"},
	} {
		p := s.start(arguments...)
		// It is at work once its engine or command runs.
		for deadline := time.Now().Add(patience); len(stall.Processes(p.Process.Pid)) < 2; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%v starts nothing: %s", arguments, p.said.String())
			}
		}
		p.signal(t, syscall.SIGINT)
		if status := p.await(t); !status.Exited() || status.ExitStatus() != exit.Done {
			t.Errorf("%v: %v", arguments, status)
		}
	}
}
