package busypoll

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
	"nines.dev/nines/testbed/napi"
	"nines.dev/nines/testbed/proc"
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

// A thread of a real-time policy that starves the softirqs of its CPU comes after all
// others for a while, and then has its policy back; when the guard ends, at once.
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
	// More than is done at once when an interrupt ends, so that ksoftirqd has to go on.
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

// Threads of threaded NAPI can starve softirqs as those can that poll.
func TestRealTimeThreadsOfThreadedNAPIAreGuarded(t *testing.T) {
	for name, cpus := range map[string][]int{"on a CPU": {0}, "where the scheduler likes": nil} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			labtest.Require(t, "threaded NAPI: "+string(f.site.Features.Threaded), f.site.Features.Threaded.None())
			run := f.start(Request{Receive: spec.ReceiveThreaded, CPUs: cpus, Scheduling: &spec.Scheduling{Policy: spec.SchedulingFIFO, Priority: 2}})
			if run.Guard == nil || !run.Guard.Alive() {
				t.Fatalf("nobody watches: %+v", run)
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
