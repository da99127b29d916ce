package isolate

import (
	"fmt"
	"os"
	"strconv"
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

// TestKeepingApartIsKilledAtEveryPoint kills the process at each kind of its steps, and in the long form at each
// step. The next keeps other CPUs apart, or none, as if nothing had been.
func TestKeepingApartIsKilledAtEveryPoint(t *testing.T) {
	labtest.Guarantee(t)
	program, h := labtest.NewKilledTest(t, "TestLifeOfCPUsApart"), newApartHost(t)
	before := h.mask()
	killedAt := func(point int) bool {
		return program.At(point, apartRoot+"="+h.apart.Root, apartLedger+"="+h.apart.Ledger, apartFile+"="+h.apart.Host, apartPID+"="+fmt.Sprint(h.pid))
	}
	points := labtest.PassedPoints(t, func() { killedAt(0) })
	if len(points) < 20 {
		t.Fatalf("it passes few points: %q", points)
	}
	for _, at := range labtest.Kills(points, map[string]bool{}) {
		point := points[at-1]
		for _, goOn := range []bool{true, false} {
			if !killedAt(at) {
				t.Fatalf("not killed at point %d, %s", at, point)
			}
			if goOn {
				h.keep(Kept{Tasks: tasks.Set{1}, Quiet: tasks.Set{1}}, "d d 0,2-3 0")
				if got, want := h.mask(), before.Minus(tasks.Set{1}); !got.Equal(want) {
					t.Errorf("killed at point %d, %s: others may use %s, not %s", at, point, got, want)
				}
			}
			h.keep(Kept{}, asBefore)
			if got := h.mask(); !got.Equal(before) {
				t.Errorf("killed at point %d, %s: at the end others may use %s, not %s", at, point, got, before)
			}
			h.nothingLeft()
			if t.Failed() {
				t.Fatalf("killed at point %d, %s", at, point)
			}
		}
	}
}
