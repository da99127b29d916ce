package host

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/test/labtest"
)

// spinOn starts a process on a CPU that never sleeps; with fifo it preempts all others
// there. Only one such process at a time: FIFO has no time slices.
func spinOn(t *testing.T, cpu int, fifo bool) (pid int, stop func()) {
	t.Helper()
	argv := []string{"taskset", "--cpu-list", strconv.Itoa(cpu), "sh", "-c", "while :; do :; done"}
	if fifo {
		argv = append([]string{"chrt", "--fifo", "10"}, argv...)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid, func() {
		var exit *exec.ExitError
		if err := errors.Join(cmd.Process.Kill(), cmd.Wait()); !errors.As(err, &exit) || exit.Exited() {
			t.Errorf("the spinner ended by itself: %v", err)
		}
	}
}

// ranTicks is how long a process ran in its own code, in ticks of 10 ms, proc_pid_stat(5).
func ranTicks(t *testing.T, pid int) int {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		t.Fatal(err)
	}
	ticks, err := strconv.Atoi(strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+2:]))[11])
	if err != nil {
		t.Fatal(err)
	}
	return ticks
}

// TestLabRealTimeStop compares RealTimeStop with the kernel. An ordinary process next to a
// real-time one that never sleeps runs if a mechanism stops the latter, and does not run at
// all if the settings that RealTimeStop reads have lifted it. Not on real-time kernels:
// there the starved task may be in an RCU read-side critical section, and then the whole
// kernel waits.
func TestLabRealTimeStop(t *testing.T) {
	labtest.VirtualLab(t, labtest.BootMain, labtest.BootNew)
	const cpu = 1
	starved := func() (ticks int) {
		ordinary, stop := spinOn(t, cpu, false)
		defer stop()
		fifo, stop := spinOn(t, cpu, true)
		defer stop()
		reach := func(ticks int) {
			for ranTicks(t, fifo) < ticks {
				time.Sleep(10 * time.Millisecond)
			}
		}
		reach(100) // chrt, taskset and sh have started, at first on other CPUs
		before := ranTicks(t, ordinary)
		reach(400) // three periods
		return ranTicks(t, ordinary) - before
	}
	read := func() RealTimeStop {
		inventory, err := Read()
		if err != nil {
			t.Fatal(err)
		}
		return inventory.RealTimeStop()
	}
	t.Run("as the kernel starts", func(t *testing.T) {
		if stop := read(); stop.By == "" {
			t.Fatal("nothing is said to stop it")
		} else if ticks := starved(); ticks == 0 {
			t.Errorf("%s is said to stop it, and did not in three periods", stop.By)
		}
	})
	t.Run("lifted", func(t *testing.T) {
		files := []string{"/proc/sys/kernel/sched_rt_runtime_us"}
		fair, err := filepath.Glob("/sys/kernel/debug/sched/fair_server/cpu*/runtime")
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range append(files, fair...) {
			old, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			value := "-1"
			if path != files[0] {
				value = "0"
			}
			if err := os.WriteFile(path, []byte(value), 0); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := os.WriteFile(path, old, 0); err != nil {
					t.Error(err)
				}
			})
		}
		if stop := read(); stop.By != "" {
			t.Fatalf("%s is said to stop it", stop.By)
		}
		if ticks := starved(); ticks > 0 {
			t.Errorf("nothing is said to stop it, and the other ran for %d ticks", ticks)
		}
	})
}
