package busypoll

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/napi"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// helper starts a program of nines that runs until the test ends.
func helper(t *testing.T, name string, on proc.ReadyOn, arguments ...string) proc.Identity {
	t.Helper()
	program := libexec(name)
	_, err := os.Stat(program)
	labtest.Require(t, name+" (make build)", err == nil)
	cmd := exec.Command(program, arguments...)
	cmd.Stderr = os.Stderr
	id, err := proc.Start(t.Context(), cmd, on)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = id.Signal(unix.SIGKILL)
		for !id.Reap() {
			time.Sleep(time.Millisecond)
		}
	})
	return id
}

// A real-time thread that starves the softirqs of its CPU gets the lowest priority for a
// while, and then its policy back; when the guard ends, at once.
func TestAGuardLetsSoftirqsRun(t *testing.T) {
	labtest.Root(t)
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	labtest.Require(t, "CPUs 0 and 1", set.IsSet(0) && set.IsSet(1))
	const policy = "fifo:20"
	spinner := helper(t, "nines-disturb", proc.ReadyOnExtraFile, "--kind", "spin", "--cpu", "1", "--policy", "fifo", "--priority", "20",
		"--length", "1000s", "--period", "1000s", "--ready-fd", "3")
	placed := func() string {
		placement, err := napi.PlacementOf(spinner.PID)
		if err != nil {
			t.Fatal(err)
		}
		return placement.String()
	}
	becomes := func(want string) {
		t.Helper()
		for until := time.Now().Add(patience); placed() != want+"@1"; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(until) {
				t.Fatalf("the thread is at %s, not %s", placed(), want)
			}
		}
	}
	becomes(policy)
	statistics := filepath.Join(t.TempDir(), "statistics")
	guard := helper(t, "nines-poller", proc.ReadyOnStdout, "guard", "--cpus", "1", "--scheduling", policy, "--statistics", statistics,
		"--thread", strconv.Itoa(spinner.PID)+"@1")
	// More work than fits into the end of an interrupt, so that ksoftirqd has to
	// continue.
	load := helper(t, "nines-disturb", proc.ReadyOnExtraFile, "--kind", "softirq", "--cpu", "1", "--length", "8ms", "--period", "10ms", "--ready-fd", "3")
	becomes("idle:0")
	_ = load.Signal(unix.SIGKILL)
	becomes(policy)
	read, err := ReadStatistics(statistics)
	if err != nil || len(read.Threads) != 1 || read.Threads[0].BackOffs == 0 || read.Threads[0].BackedOff < time.Second {
		t.Errorf("its statistics are %+v: %v", read, err)
	}
	helper(t, "nines-disturb", proc.ReadyOnExtraFile, "--kind", "softirq", "--cpu", "1", "--length", "8ms", "--period", "10ms", "--ready-fd", "3")
	becomes("idle:0")
	if err := guard.Signal(unix.SIGTERM); err != nil {
		t.Fatal(err)
	}
	becomes(policy)
}

// A thread that may run on several CPUs gets its policy back when its pauses at all of them
// are over. No host has these CPUs; processes on CPU 1 play their ksoftirqd. The thread
// starves the first and backs off for it. Only then another thread starves the second, so
// its pause ends later.
func TestAGuardWaitsForAllPausesOfAThread(t *testing.T) {
	labtest.Root(t)
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	labtest.Require(t, "CPUs 0 and 1", set.IsSet(0) && set.IsSet(1))
	const policy, first, second = "fifo:20", 1000, 1001
	spin := func() proc.Identity {
		return helper(t, "nines-disturb", proc.ReadyOnExtraFile, "--kind", "spin", "--cpu", "1", "--policy", "fifo", "--priority", "20",
			"--length", "1000s", "--period", "1000s", "--ready-fd", "3")
	}
	runFirst, runSecond := playKsoftirqd(t, first), playKsoftirqd(t, second)
	spinner := spin()
	path := filepath.Join(t.TempDir(), "statistics")
	helper(t, "nines-poller", proc.ReadyOnStdout, "guard", "--cpus", "1", "--scheduling", policy, "--statistics", path,
		"--thread", fmt.Sprintf("%d@%d", spinner.PID, first), "--thread", fmt.Sprintf("%d@%d", spinner.PID, second))
	// look says which of the two backs off, and the thread's placement meanwhile.
	look := func() (firstPaused, secondPaused bool, placed string) {
		read := func() []ThreadStatistics {
			read, err := ReadStatistics(path)
			if err != nil || len(read.Threads) != 2 {
				t.Fatalf("its statistics are %+v: %v", read, err)
			}
			return read.Threads
		}
		before := read()
		placement, err := napi.PlacementOf(spinner.PID)
		if err != nil {
			t.Fatal(err)
		}
		after := read()
		paused := func(i int) bool {
			return before[i].State == "backed off" && after[i].State == before[i].State && after[i].BackOffs == before[i].BackOffs
		}
		return paused(0), paused(1), placement.String()
	}
	runFirst()
	begun, both, wrong := false, false, 0
	for until := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		firstPaused, secondPaused, placed := look()
		if (firstPaused || secondPaused) && placed != "idle:0@1" {
			wrong++
		} else {
			wrong = 0
		}
		switch {
		case wrong == 3: // the statistics change only afterwards
			t.Fatalf("it is at %s, and is to back off: for the first %v, for the second %v", placed, firstPaused, secondPaused)
		case firstPaused && !begun:
			runSecond()
			spin()
			begun = true
		case firstPaused && secondPaused:
			both = true
		case both && wrong == 0 && placed == policy+"@1":
			return
		case time.Now().After(until):
			t.Fatalf("it did not back off for both and go on: %s", placed)
		}
	}
}

// playKsoftirqd starts a process on CPU 1 with the name of a CPU's ksoftirqd. It waits
// until run is called, and then spins.
func playKsoftirqd(t *testing.T, cpu int) (run func()) {
	t.Helper()
	cmd := exec.Command("taskset", "-c", "1", "sh", "-c",
		fmt.Sprintf("printf ksoftirqd/%d > /proc/$$/comm; echo named; read _; while :; do :; done", cpu))
	told, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	says, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if _, err := says.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	return func() { _, _ = told.Write([]byte{'\n'}) }
}

// Threads of threaded NAPI can starve softirqs as polling threads can.
func TestRealTimeThreadsOfThreadedNAPIAreGuarded(t *testing.T) {
	for name, cpus := range map[string][]int{"on a CPU": {0}, "where the scheduler likes": nil} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			labtest.Require(t, "threaded NAPI: "+string(f.site.Features.Threaded), f.site.Features.Threaded.None())
			run := f.start(Request{Receive: spec.ReceiveThreaded, CPUs: cpus, Scheduling: &spec.Scheduling{Policy: spec.SchedulingFIFO, Priority: 2}})
			if run.Guard == nil || !run.Guard.Alive() {
				t.Fatalf("it has no watchdog: %+v", run)
			}
			statistics, err := ReadStatistics(run.Guard.Statistics)
			if err != nil || len(statistics.Threads) == 0 || statistics.Threads[0].TID != run.Interfaces[0].NAPIs[0].PID {
				t.Errorf("it watches %+v: %v", statistics, err)
			}
			if n := f.exchange(50); n != 50 {
				t.Errorf("%d of 50 answered", n)
			}
			guard := run.Guard.Identity
			f.stop()
			if guard.Alive() {
				t.Error("the guard is still there")
			}
		})
	}
}

func TestAThreadIsHeldUpIfItIsOfARealTimePolicyAndWaited(t *testing.T) {
	for _, c := range []struct {
		placement string
		waited    float64
		want      bool
	}{{"fifo:20@1", 0.05, true}, {"rr:1@0,1", 0.1, true}, {"fifo:20@1", 0.001, false}, {"other:-20@1", 0.5, false}, {"", 0.5, false}} {
		if got := (ThreadUse{Thread: Thread{Placement: c.placement}, WaitedShare: c.waited}).HeldUp(); got != c.want {
			t.Errorf("%s that waited %v: %v", c.placement, c.waited, got)
		}
	}
}
