package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"nines.dev/nines/lab"
	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

// scriptsFile has two nodes whose scripts are files. In the second trial a waits for ever, unless
// there is a file that lets it go on. b sees the folder of the file.
const scriptsFile = `
name: %[1]s
topology:
  nodes:
    a: {runtime: %[2]s, scripts: {experiment: a.sh}}
    b: {mounts: [{source: ., target: /mnt}], scripts: {experiment: "test -e /mnt/%[1]s.yaml || exit 9\nnines-script sync\nnines-script get-variable -l rate\n"}}
scripts: {timeout: 1h, host_setup: host.sh, host_teardown: gone.sh}
sweep: {variables.rate: [1, 2, 3]}
`

// scripted writes the experiment, and returns the paths of what tells where its scripts are: a's
// second trial runs, may go on; how often the host's scripts ran.
func (s *shell) scripted(name, runtime, sleep string) (file, runs, may, host string) {
	s.t.Helper()
	runs, may, host = filepath.Join(s.dir, "runs"), filepath.Join(s.dir, "may"), filepath.Join(s.dir, "host")
	for path, text := range map[string]string{
		"a.sh": fmt.Sprintf(`#!/bin/sh
if [ "$(nines-script get-variable rate)" = 2 ] && [ ! -e %s ]; then
	%s &
	touch %s
	wait
fi
nines-script sync
`, may, sleep, runs),
		"host.sh": "echo up >> " + host + "\n\n",
		"gone.sh": "echo down >> " + host + "\n\n",
	} {
		if err := os.WriteFile(filepath.Join(s.dir, path), []byte(text), 0o600); err != nil {
			s.t.Fatal(err)
		}
	}
	return s.write(name, fmt.Sprintf(scriptsFile, name, runtime)), runs, may, host
}

// until waits for something that must happen.
func (s *shell) until(what string, happened func() bool) {
	s.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if happened() {
			return
		}
	}
	s.t.Fatalf("it does not happen that %s", what)
}

func exists(path string) func() bool {
	return func() bool { _, err := os.Stat(path); return err == nil }
}

// TestAKilledRunEndsItsScripts kills nines with SIGKILL in the second of three trials. Its scripts end
// without anyone else's doing, with what they have in the background, also in a node that is the
// bare host; down leaves nothing; and a resumed run does the rest, of scripts whose files are gone.
func TestAKilledRunEndsItsScripts(t *testing.T) {
	labtest.Guarantee(t)
	for runtime, sleep := range map[string]string{"netns": "sleep 98761", "host": "sleep 98762"} {
		t.Run(runtime, func(t *testing.T) {
			s := newShell(t)
			file, runs, may, host := s.scripted("tkillscripts", runtime, sleep)
			run := s.start("run", file)
			first := s.trials(run, 1)
			s.until("the second trial runs", exists(runs))
			run.signal(t, syscall.SIGKILL)
			run.await(t)
			s.until("the scripts end", func() bool {
				return exec.Command("pgrep", "-f", "^"+sleep+"$").Run() != nil
			})
			if code, said := s.call("down", "tkillscripts"); code != 0 {
				t.Fatalf("down = %d: %s", code, said)
			}
			if text, err := os.ReadFile(host); err != nil || string(text) != "up\ndown\n" {
				t.Errorf("the host's scripts did %q, %v", text, err)
			}
			if labs, err := lab.List(); err != nil || len(labs) > 0 {
				t.Errorf("labs are left: %+v (%v)", labs, err)
			}

			for _, path := range []string{"a.sh", "host.sh", "gone.sh"} {
				if err := os.Remove(filepath.Join(s.dir, path)); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(may, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if code, said := s.call("run", "--resume", first.Dir); code != 0 && !labtest.NoneValid(said) || !strings.Contains(said, "2 of 3 are left") {
				t.Fatalf("the resume = %d: %s", code, said)
			}
			done, err := result.Open(first.Dir)
			if err != nil {
				t.Fatal(err)
			}
			if len(done.Summary.Trials) != 3 || len(done.Problems) > 0 {
				t.Fatalf("%d trials, problems %q", len(done.Summary.Trials), done.Problems)
			}
			for i, trial := range done.Summary.Trials {
				out, err := os.ReadFile(filepath.Join(first.Dir, result.ScriptsFolder, trial.ID, "b", "stdout"))
				if want := fmt.Sprintf("%d\n", i+1); err != nil || string(out) != want || trial.Verdict != result.Unmeasured {
					t.Errorf("trial %s is %s, and b said %q, %v", trial.ID, trial.Verdict, out, err)
				}
			}
			if info, err := os.Stat(filepath.Join(first.Dir, result.ScriptsFile)); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the scripts are kept as %v, %v", info, err)
			}
			if code, said := s.call("report", first.Dir); code != 0 || !strings.Contains(said, "scripts") {
				t.Errorf("the report = %d: %s", code, said)
			}
		})
	}
}

// TestCtrlCEndsARunOfScripts, and the run can be resumed.
func TestCtrlCEndsARunOfScripts(t *testing.T) {
	s := newShell(t)
	const sleep = "sleep 98763"
	file, runs, _, host := s.scripted("tstopscripts", "netns", sleep)
	run := s.start("run", file)
	s.trials(run, 1)
	s.until("the second trial runs", exists(runs))
	run.signal(t, syscall.SIGINT)
	run.await(t)
	if said := run.said.String(); !strings.Contains(said, "--resume") {
		t.Errorf("it does not say how to go on: %s", said)
	}
	if exec.Command("pgrep", "-f", "^"+sleep+"$").Run() == nil {
		t.Error("a process is left")
	}
	if text, err := os.ReadFile(host); err != nil || string(text) != "up\ndown\n" {
		t.Errorf("the host's scripts did %q, %v", text, err)
	}
}

// TestTheHostsScriptsOfALab run with up and down, and a setup that fails makes no lab.
func TestTheHostsScriptsOfALab(t *testing.T) {
	s := newShell(t)
	file, _, _, host := s.scripted("thostscripts", "netns", "sleep 1")
	if code, said := s.call("up", file, "--dry-run"); code != 0 || !strings.Contains(said, "host: run the script host.sh, for at most 3600s") {
		t.Errorf("the dry run = %d: %s", code, said)
	}
	if code, said := s.call("up", file); code != 0 {
		t.Fatalf("up = %d: %s", code, said)
	}
	if code, said := s.call("exec", "a", "--", "sh", "-c", "exec nines-script sync"); code == 0 {
		t.Errorf("a barrier without a run: %s", said)
	}
	if code, said := s.call("down"); code != 0 {
		t.Fatalf("down = %d: %s", code, said)
	}
	if text, err := os.ReadFile(host); err != nil || string(text) != "up\ndown\n" {
		t.Errorf("the host's scripts did %q, %v", text, err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "host.sh"), []byte("echo no card >&2; exit 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, said := s.call("up", file); code != 1 || !strings.Contains(said, "host_setup host.sh: exit status 5: no card") {
		t.Errorf("a setup that fails = %d: %s", code, said)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "gone.sh"), []byte("echo still there; exit 6\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "host.sh"), []byte("true\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, said := s.call("up", file); code != 0 {
		t.Fatalf("up = %d: %s", code, said)
	}
	if code, said := s.call("down"); code != 0 || !strings.Contains(said, "host_teardown failed") || !strings.Contains(said, "still there") {
		t.Errorf("a teardown that fails = %d: %s", code, said)
	}
	if labs, err := lab.List(); err != nil || len(labs) > 0 {
		t.Errorf("labs are left: %+v (%v)", labs, err)
	}
}

// TestTheTestbedOfThePapers runs the example of a load generator, a device under test and a
// timestamper, and its evaluation: each packet that was sent is in both captures.
func TestTheTestbedOfThePapers(t *testing.T) {
	s := newShell(t)
	for program, command := range map[string]string{"tcpdump": "tcpdump", "ping": "ping", "lxc": "lxc-start"} {
		_, err := exec.LookPath(command)
		labtest.Require(t, program, err == nil)
	}
	folder := filepath.Join(labtest.Repository(), "examples", "low-latency-containers")
	code, said := s.call("run", filepath.Join(folder, "testbed.yaml"), "--set", "variables.packets=40")
	if code != 0 && !labtest.NoneValid(said) {
		t.Fatalf("run = %d: %s", code, said)
	}
	latest := filepath.Join(s.dir, "results", "latest")
	r, err := result.Open(latest)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Summary.Trials) != 4 {
		t.Fatalf("%d trials: %s", len(r.Summary.Trials), said)
	}
	for _, trial := range r.Summary.Trials {
		if trial.Verdict != result.Unmeasured {
			t.Errorf("trial %s is %s: %q", trial.ID, trial.Verdict, trial.Reasons)
		}
		count, err := os.ReadFile(filepath.Join(latest, result.ScriptsFolder, trial.ID, "dut", "uploads", "forwarded"))
		if n, _ := strconv.Atoi(strings.TrimSpace(string(count))); err != nil || n < 40 {
			t.Errorf("trial %s: the device under test forwarded %q, %v", trial.ID, count, err)
		}
	}
	evaluate := exec.Command(filepath.Join(folder, "testbed", "evaluate.sh"), latest)
	evaluate.Env = append(os.Environ(), "NINES="+s.binary)
	evaluate.Dir = s.dir
	out, err := evaluate.CombinedOutput()
	if pairs := strings.Count(string(out), "pairs  40 "); err != nil || pairs != 4 {
		t.Errorf("the evaluation finds all packets in %d of 4 trials, %v:\n%s", pairs, err, out)
	}
}
