package journal

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/proc"
)

// TestThreadsGetTheirMasksBack: as after a kill -9, also where the step was begun and never
// done; twice; and not after a reboot, which has ended all threads of the account.
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
	j, err := Create(filepath.Join(t.TempDir(), "journal"), Header{BootID: BootID()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	for _, done := range []bool{true, false} {
		step, err := j.Begin(Step{Kind: KindThreads, Path: account})
		if err != nil {
			t.Fatal(err)
		}
		if done {
			if err := j.Done(step, Learnt{}); err != nil {
				t.Fatal(err)
			}
		}
		narrow()
		if err := j.Undo(context.Background(), Host{BootID: "another boot"}, func(Entry) bool { return false }); err != nil {
			t.Fatal(err)
		}
		entry := Entry{Step: Step{Kind: KindThreads, Path: account}}
		if err := (Host{BootID: "another boot"}).Remove(context.Background(), entry, nil); err != nil {
			t.Fatal(err)
		}
		if got := mask(t, id.PID); got != one {
			t.Errorf("after a reboot its mask was changed to %v", got)
		}
		for range 2 {
			if err := (Host{BootID: BootID()}).Remove(context.Background(), entry, nil); err != nil {
				t.Fatal(err)
			}
			if got := mask(t, id.PID); got != whole {
				t.Errorf("its mask is %v, and was %v", got, whole)
			}
		}
		if err := j.Undo(context.Background(), Host{BootID: BootID()}, nil); err != nil || len(j.Entries()) > 0 {
			t.Fatalf("%v; left: %v", err, j.Entries())
		}
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

// A housekeeping set that was never made, or is gone, has nothing to give back.
func TestAHousekeepingSetThatIsGoneIsUndone(t *testing.T) {
	entry := Entry{Step: Step{Kind: KindHousekeeping, Path: filepath.Join(t.TempDir(), "gone"), Target: t.TempDir()}}
	if err := (Host{BootID: BootID()}).Remove(context.Background(), entry, nil); err != nil {
		t.Error(err)
	}
}
