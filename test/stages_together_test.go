package test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fakeMake runs hack/stages.sh in a folder, with a make that is a shell script.
type fakeMake struct {
	*testing.T
	dir string
}

func newFakeMake(t *testing.T, script string) fakeMake {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "make"), []byte("#!/bin/sh\necho $1 >>called\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	return fakeMake{t, dir}
}

// stages runs the script, and gives what it printed and whether it said that all is well.
func (f fakeMake) stages(environment string, words ...string) (string, bool) {
	f.Helper()
	script, err := filepath.Abs("../hack/stages.sh")
	if err != nil {
		f.Fatal(err)
	}
	run := exec.Command(script, words...)
	run.Dir = f.dir
	run.Env = append(os.Environ(), "PATH="+f.dir+":"+os.Getenv("PATH"), environment)
	out, err := run.CombinedOutput()
	return string(out), err == nil
}

// called are the targets that were made since the last time, in order.
func (f fakeMake) called() string {
	f.Helper()
	text, err := os.ReadFile(filepath.Join(f.dir, "called"))
	if err != nil {
		f.Fatal(err)
	}
	if err := os.Remove(filepath.Join(f.dir, "called")); err != nil {
		f.Fatal(err)
	}
	return strings.Join(strings.Fields(string(text)), " ")
}

// What is between brackets runs side by side: left and right wait for each other.
func TestStagesRunSideBySide(t *testing.T) {
	f := newFakeMake(t, `
case $1 in left) other=right ;; right) other=left ;; *) exit 0 ;; esac
>$1.there
for try in $(seq 600); do [ -e $other.there ] && echo "DONE 2 tests in 1s" && exit 0; sleep 0.1; done
exit 1
`)
	out, well := f.stages("RESUME=", "first", "[", "left", "then", ",", "right", "]", "last")
	called := f.called()
	if !well || !strings.HasPrefix(called, "first ") || !strings.HasSuffix(called, " last") || !strings.Contains(called, "then") {
		t.Errorf("called %s:\n%s", called, out)
	}
	for _, want := range []string{"left | DONE 2 tests", "right | DONE 2 tests"} {
		if !strings.Contains(out, want) {
			t.Errorf("no line %q in:\n%s", want, out)
		}
	}
	_, table, _ := strings.Cut(out, "\nstage ")
	var rows []string
	for _, line := range strings.Split(table, "\n")[1:6] {
		name, _, _ := strings.Cut(line, " ")
		rows = append(rows, name)
	}
	if got := strings.Join(rows, " "); got != "first left then right last" {
		t.Errorf("the rows are %s:\n%s", got, table)
	}
}

// With RESUME=1 only what has not passed is run, as long as the code is the same.
func TestStagesGoOnWhereTheyEnded(t *testing.T) {
	t.Setenv("NINES_LONG", "") // which the long form sets
	f := newFakeMake(t, "[ $1 != two ] || [ -e mended ]\n")
	for _, arguments := range [][]string{{"init", "-q"}, {"-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "--allow-empty", "-m", "x"}} {
		git := exec.Command("git", arguments...)
		git.Dir = f.dir
		if out, err := git.CombinedOutput(); err != nil {
			t.Fatalf("git: %v: %s", err, out)
		}
	}
	all := []string{"one", "two", "three"}
	for _, step := range []struct {
		environment, want string
		mended            bool
	}{
		{"RESUME=", "one two three", false},
		{"RESUME=1", "two", true},
		{"RESUME=", "one two three", true},
	} {
		if step.mended {
			if err := os.WriteFile(filepath.Join(f.dir, "mended"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		out, well := f.stages(step.environment, all...)
		if got := f.called(); got != step.want || well != step.mended || !strings.Contains(out, "three") {
			t.Errorf("%s ran %s, want %s:\n%s", step.environment, got, step.want, out)
		}
	}
	// Another form is another thing.
	t.Setenv("NINES_LONG", "1")
	if _, _ = f.stages("RESUME=1", all...); f.called() != "one two three" {
		t.Error("what passed in the short form was left out of the long one")
	}
}

// Who ends the stages ends all that they have started.
func TestStagesAreEndedWithWhatTheyStarted(t *testing.T) {
	f := newFakeMake(t, "echo $$ >$1.pid\nexec sleep 600\n")
	script, err := filepath.Abs("../hack/stages.sh")
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command(script, "[", "left", ",", "right", "]")
	run.Dir = f.dir
	run.Env = append(os.Environ(), "PATH="+f.dir+":"+os.Getenv("PATH"))
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	var started []int
	for _, name := range []string{"left", "right"} {
		pid := 0
		for deadline := time.Now().Add(time.Minute); pid == 0; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s has not started", name)
			}
			text, _ := os.ReadFile(filepath.Join(f.dir, name+".pid"))
			pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		}
		started = append(started, pid)
	}
	if err := run.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := run.Wait(); err == nil {
		t.Error("stages that were ended are said to have passed")
	}
	for _, pid := range started {
		for deadline := time.Now().Add(time.Minute); syscall.Kill(pid, 0) == nil; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("process %d is left", pid)
			}
		}
	}
}
