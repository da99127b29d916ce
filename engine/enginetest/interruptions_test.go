package enginetest

import (
	"errors"
	"os/exec"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/test/labtest"
)

// pauseLength is how long an engine is stopped. Its thread goes on for a moment after the signal was sent.
const (
	pauseLength = 60 * time.Millisecond
	pauseLeast  = 50 * time.Millisecond
)

// settling is how long a thread gets to make some turns.
const settling = 30 * time.Millisecond

func monotonic(t *testing.T) int64 {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		t.Error(err)
	}
	return now.Nano()
}

// stoppable is an engine that can be stopped, with ports that each spin on themselves in memory.
func stoppable(t *testing.T, ports ...string) (engine *client.Client, pause func() (endNs int64)) {
	t.Helper()
	cmd := exec.Command(labtest.EnginePath(t))
	engine = labtest.RunEngine(t, cmd).Client
	for _, port := range ports {
		open(t, engine, client.Port{Name: port, Backend: "memory", Interface: "loop-" + port, Wait: "spin"})
	}
	return engine, func() int64 {
		pid := cmd.Process.Pid
		err := unix.Kill(pid, unix.SIGSTOP)
		time.Sleep(pauseLength)
		end := monotonic(t)
		if err := errors.Join(err, unix.Kill(pid, unix.SIGCONT)); err != nil {
			t.Error(err)
		}
		return end
	}
}

// lists reports whether a list has the pause that ended at endNs, if its begins count from fromNs.
func lists(of client.Interruptions, fromNs, endNs int64) bool {
	return slices.ContainsFunc(of.List, func(i client.Interruption) bool {
		begin := fromNs + i.BeginNs
		return i.LengthNs >= int64(pauseLeast) && begin < endNs && begin+i.LengthNs >= endNs
	})
}

func TestATrialListsThePauseOfItsThread(t *testing.T) {
	engine, pause := stoppable(t, "a")
	ended := make(chan []int64, 1)
	started := client.Events{Started: func(s client.Started) {
		go func() {
			// A thread that a busy host lets run seldom has learnt no usual turn yet, and does not notice a pause.
			var ends []int64
			time.Sleep(time.Duration(s.StartNs - s.NowNs))
			for range 5 {
				time.Sleep(200 * time.Millisecond)
				ends = append(ends, pause())
			}
			ended <- ends
			if err := engine.Abort(); err != nil {
				t.Error(err)
			}
		}()
	}}
	trial := client.Trial{Role: "loop", Streams: []client.Stream{{Tx: "a", Rx: "a", RatePPS: 10000}}, CPU: -1, WarmupNs: 100e6, DurationNs: 60e9}
	result, err := engine.Trial(trial, started)
	if err != nil {
		t.Fatal(err)
	}
	of := result.Interruptions
	listed := slices.ContainsFunc(<-ended, func(end int64) bool { return lists(of, result.MeasuredStartNs, end) })
	if !listed || of.Overflow > 0 || len(of.Kinds) == 0 {
		t.Errorf("no pause of %v is among %d interruptions, %d more found no room", pauseLength, of.Count, of.Overflow)
	}
}

// awaitPause stops the engine until its only thread lists a pause, and returns the list and the pause's end. A thread that
// a busy host has not let begin yet does not notice one.
func awaitPause(t *testing.T, engine *client.Client, pause func() (endNs int64)) (got client.Interrupted, endNs int64) {
	t.Helper()
	for range 10 {
		endNs = pause()
		for begun := time.Now(); time.Since(begun) < time.Second; time.Sleep(time.Millisecond) {
			threads, err := engine.Interruptions()
			if err != nil || len(threads) != 1 {
				t.Fatalf("%d threads list interruptions, %v", len(threads), err)
			}
			if got = threads[0]; lists(got.Interruptions, got.BeginNs, endNs) {
				return got, endNs
			}
		}
	}
	t.Fatalf("no pause of %v is among %d interruptions", pauseLength, got.Interruptions.Count)
	return got, endNs
}

// TestAForwarderListsItsPauses: once between two calls of serve, as the thread adds to the list.
func TestAForwarderListsItsPauses(t *testing.T) {
	engine, pause := stoppable(t, "a", "b")
	if err := engine.ListInterruptions(100); err == nil {
		t.Error("an engine that does not serve lists interruptions")
	}
	serve := client.Serve{Role: "forward", Ports: []string{"a", "b"}, CPU: -1}
	for range 2 {
		if err := engine.Serve(serve); err != nil {
			t.Fatal(err)
		}
		var refused *client.Error
		if _, err := engine.Interruptions(); !errors.As(err, &refused) || refused.Errno != "ENODATA" {
			t.Errorf("before a list was asked for: %v", err)
		}
		if err := engine.ListInterruptions(1 << 20); err != nil {
			t.Fatal(err)
		}
		if err := engine.ListInterruptions(1 << 20); !errors.As(err, &refused) || refused.Errno != "EALREADY" {
			t.Errorf("a second list: %v", err)
		}
		time.Sleep(settling)
		awaitPause(t, engine, pause)
		if _, err := engine.Stop(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestASwitchListsItsPausesAnew: it lives through many trials, each with a list of its own.
func TestASwitchListsItsPausesAnew(t *testing.T) {
	engine, pause := stoppable(t, "a")
	if err := engine.StartSwitch(client.Switch{CPUs: []int{}}); err != nil {
		t.Fatal(err)
	}
	if err := engine.Attach(client.SwitchPort{Port: "a"}); err != nil {
		t.Fatal(err)
	}
	time.Sleep(settling)
	var before int64
	for range 2 {
		if err := engine.ListInterruptions(1 << 20); err != nil {
			t.Fatal(err)
		}
		got, end := awaitPause(t, engine, pause)
		if before > 0 && lists(got.Interruptions, got.BeginNs, before) {
			t.Error("the second list has the pause of the first")
		}
		before = end
	}
}

// TestATrialTellsWhatInterruptsItWhileItRuns: its thread's list is there from its begin on.
func TestATrialTellsWhatInterruptsItWhileItRuns(t *testing.T) {
	engine := labtest.StartEngine(t, "")
	if _, err := engine.Open(client.Port{Name: "a", Backend: "memory", Interface: "told", Wait: "spin"}); err != nil {
		t.Fatal(err)
	}
	var asked error
	var threads []client.Interrupted
	answers := 0
	r, err := engine.Trial(client.Trial{Role: "loop", CPU: -1, DurationNs: 300e6, DrainNs: 20e6, Streams: []client.Stream{{Tx: "a", Rx: "a", RatePPS: 5000}}}, client.Events{
		Started: func(client.Started) { asked = engine.AskInterruptions() },
		Interruptions: func(all []client.Interrupted, err error) {
			answers, threads = answers+1, all
			if err != nil {
				t.Error(err)
			}
		},
	})
	if err != nil || asked != nil {
		t.Fatal(err, asked)
	}
	if answers != 1 || len(threads) != 1 || threads[0].TID != r.TID || uint64(len(threads[0].Interruptions.List)) > r.Interruptions.Count+1000 {
		t.Errorf("%d answers, %+v", answers, threads)
	}
}
