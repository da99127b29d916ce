package vm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A test of the laboratory ends in some minutes, translated and on a busy host.
const (
	beatInterval = 15 * time.Second
	// beatPatience is how long a guest may take to run a command.
	beatPatience = 2 * time.Minute
	// quietPatience is how long no test may end before each CPU's timer is looked at. Not
	// sooner: it runs a command on CPUs that tests keep free.
	quietPatience = 4 * time.Minute
	// testPatience is how long one test may take.
	testPatience = 10 * time.Minute
)

var (
	// errStoodStill is of the machine's making: its tests are worth another one.
	errStoodStill = errors.New("the machine stood still")
	// errStuck is of a test's.
	errStuck = errors.New("the test did not end in time")
)

// guest is a laboratory's.
type guest interface {
	Output(ctx context.Context, argv ...string) (string, error)
	AwaitTimers(ctx context.Context) error
}

// watch is a context for tests in a laboratory that ends when the guest stands still, or
// when none of the tests has ended for too long. A translated guest's CPU may lose its
// timer for good (machine.Patience); what sleeps there, Go's own limit of a test
// included, then never wakes up.
type watch struct {
	context.Context
	ended atomic.Int64 // when the last test did, in ns since 1970
	stuck atomic.Bool  // its tests are being ended
	stop  context.CancelFunc
}

func newWatch(ctx context.Context, g guest, binary string, patience time.Duration) *watch {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watch{Context: ctx}
	w.testEnded()
	w.stop = func() { cancel(nil) }
	go func() {
		for w.sleep() {
			quiet := time.Since(time.Unix(0, w.ended.Load()))
			err := w.beat(g, quiet > quietPatience)
			if err == nil && quiet > patience {
				err = errStuck
				w.stuck.Store(true)
				// Go's tests say where they are.
				limited, stop := context.WithTimeout(ctx, beatPatience)
				_, _ = g.Output(limited, "pkill", "-QUIT", "-f", "^"+binary)
				stop()
				w.sleep()
			}
			if err != nil {
				cancel(err)
				return
			}
		}
	}()
	return w
}

func (w *watch) testEnded() { w.ended.Store(time.Now().UnixNano()) }

// sleep waits for the next beat, and is false at the end.
func (w *watch) sleep() bool {
	select {
	case <-w.Done():
		return false
	case <-time.After(beatInterval):
		return true
	}
}

// beat has the guest run a command, and one on each CPU.
func (w *watch) beat(g guest, each bool) error {
	ctx, cancel := context.WithTimeout(w, beatPatience)
	defer cancel()
	_, err := g.Output(ctx, "true")
	if err == nil && each {
		err = g.AwaitTimers(ctx)
	}
	if err != nil && ctx.Err() != nil && w.Err() == nil {
		return fmt.Errorf("%w: %w", errStoodStill, err)
	}
	return nil // another error is that of a test's doing, as a CPU that is taken
}

// fakeGuest hangs from a time on: as a whole, or only on one of its CPUs.
type fakeGuest struct {
	whole, cpu time.Time
	asked      []string
}

func hang(ctx context.Context, from time.Time) error {
	if time.Now().Before(from) {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}

func (f *fakeGuest) Output(ctx context.Context, argv ...string) (string, error) {
	if !slices.Contains(f.asked, argv[0]) {
		f.asked = append(f.asked, argv[0])
	}
	return "", hang(ctx, f.whole)
}

func (f *fakeGuest) AwaitTimers(ctx context.Context) error { return hang(ctx, f.cpu) }

func TestWatchEndsWhatStandsStill(t *testing.T) {
	const never = 24 * time.Hour
	for name, c := range map[string]struct {
		whole, cpu, eachTest time.Duration // from when it hangs; how often a test ends
		want                 error
		earliest, latest     time.Duration
		asked                []string
	}{
		"goes on":                  {never, never, time.Minute, nil, time.Hour, time.Hour, []string{"true"}},
		"the machine stands still": {time.Minute, never, never, errStoodStill, beatPatience, 4 * time.Minute, []string{"true"}},
		"a CPU has lost its timer": {never, time.Minute, never, errStoodStill, quietPatience, quietPatience + 3*time.Minute, []string{"true"}},
		"a test does not end":      {never, never, never, errStuck, testPatience, testPatience + time.Minute, []string{"true", "pkill"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				g := &fakeGuest{whole: begin.Add(c.whole), cpu: begin.Add(c.cpu)}
				w := newWatch(t.Context(), g, "lab.test", testPatience)
				for time.Since(begin) < time.Hour && w.Err() == nil {
					select {
					case <-time.After(min(c.eachTest, time.Hour)):
						w.testEnded()
					case <-w.Done():
					}
				}
				took, err := time.Since(begin), context.Cause(w)
				w.stop()
				synctest.Wait()
				if !errors.Is(err, c.want) || took < c.earliest || took > c.latest || !slices.Equal(g.asked, c.asked) {
					t.Errorf("after %v: %v; asked for %v", took, err, g.asked)
				}
			})
		})
	}
}
