package isolate

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/test/labtest"
)

// TestABusyGroupNamesItsProcesses, in every hierarchy, and removes all that is not busy; once they have left it, the
// rest goes, too.
func TestABusyGroupNamesItsProcesses(t *testing.T) {
	labtest.Root(t)
	const name = "nines-test-busy"
	hierarchies, err := cgroup.Mounted()
	if err != nil {
		t.Fatal(err)
	}
	j, err := journal.Create(filepath.Join(t.TempDir(), "journal"), journal.Header{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	if err := Reserve(j, "", name); err != nil {
		t.Fatal(err)
	}
	sleep := exec.Command("sleep", "1000")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = sleep.Process.Kill(), sleep.Wait()
		if err := j.Undo(context.Background(), nil, nil); err != nil {
			t.Error(err)
		}
	})
	var used []string
	for _, h := range hierarchies {
		in, free := filepath.Join(h.Mount, name, "in"), filepath.Join(h.Mount, name, "free", "below")
		for _, dir := range []string{in, free} {
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		// A new cpuset of version 1 has no CPUs, and takes no process.
		if os.WriteFile(filepath.Join(in, "cgroup.procs"), fmt.Append(nil, sleep.Process.Pid), 0) == nil {
			used = append(used, in)
		}
	}
	labtest.Require(t, "a hierarchy of control groups that takes a process", len(used) > 0)
	var told []string
	err = j.Undo(journal.WithProgress(t.Context(), func(text string) { told = append(told, text) }), nil, nil)
	who := fmt.Sprintf("process %d (sleep) in %s", sleep.Process.Pid, used[0])
	if err == nil || !strings.Contains(err.Error(), who) {
		t.Errorf("%v, want %q", err, who)
	}
	if len(told) != 1 || !strings.Contains(told[0], who) {
		t.Errorf("told %q, want %q", told, who)
	}
	for _, h := range hierarchies {
		if dir := filepath.Join(h.Mount, name, "free"); labtest.There(t, dir) {
			t.Errorf("%s is left", dir)
		}
	}
	_, _ = sleep.Process.Kill(), sleep.Wait()
	if err := j.Undo(t.Context(), nil, nil); err != nil || len(j.Entries()) > 0 {
		t.Errorf("once the process has ended: %v, left %v", err, j.Entries())
	}
}
