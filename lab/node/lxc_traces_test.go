package node

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/test/labtest"
)

func undoTraces(t *testing.T, mount string) (notes []string, err error) {
	t.Helper()
	u := journal.Undoing{Note: func(note string) { notes = append(notes, note) }}
	u.Path, u.Name, u.Value = "/nines-test/lxc", "none", mount
	return notes, removeLXCTraces(t.Context(), u)
}

// TestAPivotThatCannotBeRemovedIsNotForgotten: its step stays in the journal.
func TestAPivotThatCannotBeRemovedIsNotForgotten(t *testing.T) {
	mount := t.TempDir()
	if err := os.MkdirAll(filepath.Join(mount, lxcPivot, "below"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := undoTraces(t, mount); !errors.Is(err, unix.ENOTEMPTY) {
		t.Errorf("undone with %v", err)
	}
	if err := os.Remove(filepath.Join(mount, lxcPivot, "below")); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a second time there is nothing to do
		if notes, err := undoTraces(t, mount); err != nil || len(notes) > 0 || labtest.There(t, filepath.Join(mount, lxcPivot)) {
			t.Errorf("undone with %v, %q", err, notes)
		}
	}
}

// TestTracesOfAContainerThatRunsAreNotForgotten: it leaves them when it ends, though there are none yet.
func TestTracesOfAContainerThatRunsAreNotForgotten(t *testing.T) {
	u := journal.Undoing{Unended: true, Note: func(note string) { t.Errorf("noted: %s", note) }}
	u.Path, u.Name, u.Value = "/nines-test/lxc", "none", t.TempDir()
	if err := removeLXCTraces(t.Context(), u); err == nil {
		t.Error("undone while the container may run")
	}
}

// TestAPivotWithAnothersMonitorStays, and down says so: that monitor ends when it likes.
func TestAPivotWithAnothersMonitorStays(t *testing.T) {
	labtest.Require(t, "root", os.Geteuid() == 0)
	hierarchies, err := cgroup.Mounted()
	if err != nil {
		t.Fatal(err)
	}
	labtest.Require(t, "control groups", len(hierarchies) > 0)
	// Of version 2, or one that is easily told to take processes.
	at := hierarchies[0]
	for _, h := range hierarchies {
		if h.Version == 2 || h.Has("pids") {
			at = h
		}
	}
	mount := filepath.Join(at.Mount, fmt.Sprintf("nines-test-%d", os.Getpid()))
	pivot := filepath.Join(mount, lxcPivot)
	if err := os.MkdirAll(pivot, 0o755); err != nil {
		t.Fatal(err)
	}
	monitor := exec.Command("sleep", "60")
	if err := monitor.Start(); err != nil {
		t.Fatal(err)
	}
	end := func() {
		_ = monitor.Process.Kill()
		_ = monitor.Wait()
	}
	t.Cleanup(func() {
		end()
		if err := errors.Join(removePivot(pivot, journal.Undoing{Note: func(string) {}}), os.Remove(mount)); err != nil {
			t.Error(err)
		}
	})
	if err := os.WriteFile(filepath.Join(pivot, "cgroup.procs"), []byte(strconv.Itoa(monitor.Process.Pid)), 0); err != nil {
		t.Fatal(err)
	}
	if notes, err := undoTraces(t, mount); err != nil || len(notes) != 1 || !strings.Contains(notes[0], strconv.Itoa(monitor.Process.Pid)) {
		t.Errorf("undone with %v, %q", err, notes)
	}
	end()
	if notes, err := undoTraces(t, mount); err != nil || len(notes) > 0 || labtest.There(t, pivot) {
		t.Errorf("after it has ended, undone with %v, %q", err, notes)
	}
}
