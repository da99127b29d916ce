package measure

import (
	"context"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// untilTheEnd is a happening that lasts until its trial is over, as a slow restart does.
type untilTheEnd struct {
	down chan struct{} // closed when it begins
	quit <-chan struct{}
}

func (u untilTheEnd) Down() (atNs int64, err error) {
	close(u.down)
	<-u.quit
	return monotonicNow(), nil
}

func (untilTheEnd) Up() (atNs int64, err error) { return monotonicNow(), nil }

func (untilTheEnd) Close(context.Context) error { return nil }

func monotonicNow() int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // every kernel has the clock
	return now.Nano()
}

// TestAnEventThatOutlivesItsTrialIsAProblem: always, though its time is over as well then. Chance
// would pass one try of two.
func TestAnEventThatOutlivesItsTrialIsAProblem(t *testing.T) {
	for range 50 {
		all := &events{quit: make(chan struct{})}
		slow := untilTheEnd{make(chan struct{}), all.quit}
		all.list = []*event{{happening: slow}}
		all.start(monotonicNow())
		<-slow.down
		var o observation
		if err := all.stop(t.Context(), &o); err != nil {
			t.Fatal(err)
		}
		if len(o.faults) != 1 || !strings.Contains(o.faults[0].Problem, "the trial ended before the event did") {
			t.Fatalf("the trial's faults are %v", o.faults)
		}
		if e := o.events[0]; e.BeganNs == 0 || e.EndedNs < e.BeganNs {
			t.Fatalf("the event is recorded as %+v", e)
		}
	}
}
