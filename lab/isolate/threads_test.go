package isolate

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/proc"
)

// TestThreadsGetTheirMasksBack: after a kill -9, even where the step was begun but not done; twice;
// but not after a reboot, which has ended all threads of the record.
func TestThreadsGetTheirMasksBack(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	var whole unix.CPUSet
	if err := unix.SchedGetaffinity(cmd.Process.Pid, &whole); err != nil {
		t.Fatal(err)
	}
	var one unix.CPUSet
	first := 0
	for !whole.IsSet(first) {
		first++
	}
	one.Set(first)
	narrow := func() {
		if err := unix.SchedSetaffinity(cmd.Process.Pid, &one); err != nil {
			t.Fatal(err)
		}
	}
	id, err := proc.Of(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", id.PID))
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(status), "Cpus_allowed_list:")
	list = strings.TrimSpace(strings.SplitN(list, "\n", 2)[0])
	// All CPUs but the first are taken.
	taken := ""
	for cpu := first + 1; cpu < 1024; cpu++ {
		if whole.IsSet(cpu) {
			taken = strings.TrimPrefix(fmt.Sprintf("%s,%d", taken, cpu), ",")
		}
	}
	account := filepath.Join(t.TempDir(), "threads.json")
	text := fmt.Sprintf(`{"taken":%q,"threads":[{"id":%d,"start":%d,"cpus":%q}]}`, taken, id.PID, id.StartTicks, list)
	if err := os.WriteFile(account, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	step := journal.Step{Kind: KindThreads, Path: account}
	for _, done := range []bool{true, false} {
		for _, c := range []struct {
			boot string
			want unix.CPUSet
		}{{"another boot", one}, {"", whole}} {
			narrow()
			for range 2 {
				undo(t, c.boot, step, done)
				if got := mask(t, id.PID); got != c.want {
					t.Errorf("in boot %q its mask became %v, not %v", c.boot, got, c.want)
				}
			}
		}
	}
}

// undo makes a journal with one step, of this boot where bootID is empty, and undoes it.
func undo(t *testing.T, bootID string, step journal.Step, done bool) {
	t.Helper()
	j, err := journal.Create(filepath.Join(t.TempDir(), "journal"), journal.Header{BootID: bootID})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	number, err := j.Begin(step)
	if err == nil && done {
		err = j.Done(number, journal.Learnt{})
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Undo(context.Background(), nil, nil); err != nil || len(j.Entries()) > 0 {
		t.Fatalf("%v; left: %v", err, j.Entries())
	}
}

func mask(t *testing.T, pid int) unix.CPUSet {
	t.Helper()
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(pid, &set); err != nil {
		t.Fatal(err)
	}
	return set
}

// Undo of a housekeeping set or group that was never made, or is gone, does nothing.
func TestAGroupThatIsGoneIsUndone(t *testing.T) {
	gone := filepath.Join(t.TempDir(), "gone")
	undo(t, "", journal.Step{Kind: KindHousekeeping, Path: gone, Target: t.TempDir()}, false)
	undo(t, "", journal.Step{Kind: KindCgroup, Path: gone}, false)
	undo(t, "", journal.Step{Kind: KindCgroup, Name: "nines-test-gone"}, true)
}
