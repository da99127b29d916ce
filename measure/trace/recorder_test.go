package trace

import (
	"errors"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

// started is a recorder on the test's machine.
func started(t *testing.T, config Config) *Recorder {
	t.Helper()
	labtest.Root(t)
	r, err := Start(config)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A thread that sleeps between two moments is seen to leave and return, with its name, and its CPU
// is seen to do something else or to idle.
func TestAThreadIsSeenToSleepAndWake(t *testing.T) {
	r := started(t, Config{})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	tid := int32(unix.Gettid())
	begin := monotonic()
	for range 5 {
		pause := unix.NsecToTimespec(int64(2 * time.Millisecond))
		if err := unix.Nanosleep(&pause, nil); err != nil && !errors.Is(err, unix.EINTR) { // Go's runtime signals its threads
			t.Fatal(err)
		}
	}
	end := monotonic()
	r.Keep(Packet{ID: 7, BeginNs: begin, EndNs: end, LatencyNs: end - begin})
	recording, err := r.Stop()
	if err != nil {
		t.Fatal(err)
	}
	var mine []result.Event
	for _, e := range recording.Events {
		if e.Kind == result.EventThread && e.TID == tid {
			mine = append(mine, e)
		}
	}
	if len(mine) < 6 {
		t.Fatalf("the thread ran in %d stretches, and slept five times between: %v", len(mine), mine)
	}
	for _, e := range mine[1:] {
		if e.Name == "" || e.EndNs < e.BeginNs {
			t.Errorf("%+v", e)
		}
	}
	for i := range mine[1:] {
		if asleep := mine[i+1].BeginNs - mine[i].EndNs; asleep < 0 {
			t.Errorf("it ran twice at once: %+v, %+v", mine[i], mine[i+1])
		}
	}
	if recording.Trace.Lost != 0 || recording.Trace.Kept != uint64(len(recording.Events)) || len(recording.Trace.Stretches) != 1 {
		t.Errorf("%+v", recording.Trace)
	}
}
