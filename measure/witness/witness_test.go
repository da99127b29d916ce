package witness

import (
	"net"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/test/labtest"
)

func started(t *testing.T, room int) *Watch {
	t.Helper()
	labtest.Root(t)
	w, err := Start(Options{Room: room, Softirqs: true})
	if err != nil {
		labtest.Require(t, "BPF on tracepoints: "+err.Error(), false)
	}
	t.Cleanup(w.Close)
	return w
}

func monotonic(t *testing.T) int64 {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		t.Fatal(err)
	}
	return now.Nano()
}

// spinning is a process that never sleeps, on this CPU.
func spinning(t *testing.T, cpu int) int {
	t.Helper()
	cmd := exec.Command("taskset", "--cpu-list", strconv.Itoa(cpu), "sh", "-c", "while :; do :; done")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd.Process.Pid
}

// await waits until a row is listed for which is holds.
func await(t *testing.T, w *Watch, what string, is func(Row) bool) Row {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		rows := w.Rows()
		if at := slices.IndexFunc(rows, is); at >= 0 {
			return rows[at]
		}
		if time.Since(begun) > 10*time.Second {
			t.Fatalf("%s is not among %d rows", what, len(rows))
		}
	}
}

func TestAStoppedThreadIsListed(t *testing.T) {
	w := started(t, 1<<14)
	pid := spinning(t, 0)
	if err := w.Thread("program", pid, false); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(30 * time.Millisecond)
	end := monotonic(t)
	if err := unix.Kill(pid, unix.SIGCONT); err != nil {
		t.Fatal(err)
	}
	await(t, w, "the stop", func(r Row) bool {
		return r.Witness == "program" && r.Kind == "stopped" && r.BeginNs < end && r.BeginNs+r.LengthNs >= end
	})
}

// TestAThreadWaitsForOthers: one that wants all of a CPU waits for another that is not known, and so does what it starts.
func TestAThreadWaitsForOthers(t *testing.T) {
	w := started(t, 1<<14)
	spinning(t, 0)
	shell := exec.Command("taskset", "--cpu-list", "0", "sh", "-c", "read go; (while :; do :; done) & wait")
	input, err := shell.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	shell.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = unix.Kill(-shell.Process.Pid, unix.SIGKILL)
		_ = shell.Wait()
	})
	if err := w.Thread("child", shell.Process.Pid, true); err != nil {
		t.Fatal(err)
	}
	if _, err := input.Write([]byte("\n")); err != nil {
		t.Fatal(err)
	}
	// Before it is on the CPU, it may wait elsewhere.
	row := await(t, w, "a wait", func(r Row) bool { return r.Kind == "preempted" && r.CPU == 0 })
	if row.Witness != "child" || row.LengthNs < floorNs {
		t.Errorf("%+v", row)
	}
}

// TestWhatFindsNoRoomIsCounted: in a list of one row.
func TestWhatFindsNoRoomIsCounted(t *testing.T) {
	w := started(t, 1)
	spinning(t, 0)
	if err := w.Thread("program", spinning(t, 0), false); err != nil {
		t.Fatal(err)
	}
	await(t, w, "a wait", func(r Row) bool { return r.Witness == "program" })
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		told := w.Told()
		if len(told) == 1 && told[0].Overflow > 0 && len(w.Rows()) == 1 {
			return
		}
		if time.Since(begun) > 10*time.Second {
			t.Fatalf("%+v", told)
		}
	}
}

// TestSoftirqsAreWatched: packets over the loopback raise them, and how long they take to begin becomes known.
func TestSoftirqsAreWatched(t *testing.T) {
	w := started(t, 1<<14)
	for cpu := range runtime.NumCPU() {
		if err := w.CPU("softirqs", cpu); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := net.Dial("udp", "127.0.0.1:9")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for begun := time.Now(); w.Told()[0].Times == 0; {
		_, _ = conn.Write([]byte("x")) // nobody receives it
		if time.Since(begun) > 10*time.Second {
			t.Fatal("no softirq was seen")
		}
	}
}

// TestTicksAreWatched: how late they are becomes known, whatever the host does.
func TestTicksAreWatched(t *testing.T) {
	w := started(t, 1<<14)
	if err := w.Ticks("ticks", 0); err != nil {
		labtest.Require(t, "perf events: "+err.Error(), false)
	}
	for begun := time.Now(); w.Told()[0].Times < 200; time.Sleep(time.Millisecond) {
		if time.Since(begun) > 10*time.Second {
			t.Fatalf("%+v", w.Told())
		}
	}
}

func TestThePeriodOfTicksFollowsTheirCost(t *testing.T) {
	const us = time.Microsecond
	for _, c := range []struct {
		taken []time.Duration
		want  time.Duration
	}{
		{nil, leastPeriod},
		{[]time.Duration{us, us, us, 2 * us, 900 * us}, leastPeriod},
		{[]time.Duration{us, 900 * us, 12 * us, 12 * us, 13 * us}, 2400 * us},
		{[]time.Duration{3000 * us, 4000 * us, 4000 * us}, mostPeriod},
	} {
		if got := periodOf(c.taken); got != c.want {
			t.Errorf("%v: %v, want %v", c.taken, got, c.want)
		}
	}
}
