package isolate

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"nines.dev/nines/kernel/tasks"
	"nines.dev/nines/test/labtest"
)

// What the process that is killed is told.
const (
	apartRoot   = "NINES_APART_ROOT"
	apartLedger = "NINES_APART_LEDGER"
	apartFile   = "NINES_APART_HOST"
	apartPID    = "NINES_APART_PID"
)

// TestLifeOfCPUsApart is what TestKeepingApartIsKilledAtEveryPoint has killed: CPUs of one, of two, of the other,
// of nobody.
func TestLifeOfCPUsApart(t *testing.T) {
	labtest.OtherTest(t, os.Getenv(apartRoot) != "")
	pid, err := strconv.Atoi(os.Getenv(apartPID))
	if err != nil {
		t.Fatal(err)
	}
	a := Apart{
		Root: os.Getenv(apartRoot), Ledger: os.Getenv(apartLedger), Host: os.Getenv(apartFile),
		Include: func(of tasks.Thread) bool { return of.Process == pid },
	}
	for _, cpus := range []tasks.Set{{1}, {1, 3}, {3}, nil} {
		if _, err := a.Keep(t.Context(), Kept{Tasks: cpus, Quiet: cpus}, tasks.Set{0}, func(note string) { t.Error(note) }); err != nil {
			t.Fatal(err)
		}
	}
}

// TestKeepingApartIsKilledAtEveryPoint kills the process at each of its steps. The next keeps other CPUs apart,
// or none, as if nothing had been.
func TestKeepingApartIsKilledAtEveryPoint(t *testing.T) {
	labtest.LongForm(t)
	program := filepath.Join(t.TempDir(), "isolate.test")
	build := exec.Command("go", "test", "-c", "-tags", "faultpoint", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build it with fault points: %v: %s", err, out)
	}
	h := newApartHost(t)
	before := h.mask()
	run := func(variables ...string) (killed bool) {
		command := exec.Command(program, "-test.run", "^TestLifeOfCPUsApart$")
		command.Env = append(append(os.Environ(), apartRoot+"="+h.apart.Root, apartLedger+"="+h.apart.Ledger, apartFile+"="+h.apart.Host, apartPID+"="+fmt.Sprint(h.pid)), variables...)
		out, err := command.CombinedOutput()
		if ended := new(exec.ExitError); errors.As(err, &ended) && ended.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
			return true
		}
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return false
	}
	list := filepath.Join(t.TempDir(), "points")
	run("NINES_FAULT_LIST=" + list)
	text, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	points := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(points) < 20 {
		t.Fatalf("it passes few points: %q", points)
	}
	for i, point := range points {
		for _, goOn := range []bool{true, false} {
			if !run(fmt.Sprint("NINES_FAULT_AT=", i+1)) {
				t.Fatalf("not killed at point %d, %s", i+1, point)
			}
			if goOn {
				h.keep(Kept{Tasks: tasks.Set{1}, Quiet: tasks.Set{1}}, "d d 0,2-3 0")
				if got, want := h.mask(), before.Minus(tasks.Set{1}); !got.Equal(want) {
					t.Errorf("killed at point %d, %s: others may use %s, not %s", i+1, point, got, want)
				}
			}
			h.keep(Kept{}, asBefore)
			if got := h.mask(); !got.Equal(before) {
				t.Errorf("killed at point %d, %s: at the end others may use %s, not %s", i+1, point, got, before)
			}
			h.nothingLeft()
			if t.Failed() {
				t.Fatalf("killed at point %d, %s", i+1, point)
			}
		}
	}
}
