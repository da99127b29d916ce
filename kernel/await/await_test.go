package await

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// TestPausesGrow up to their bound, or stay as they are without one.
func TestPausesGrow(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		every, upTo time.Duration
		asked       []time.Duration
	}{
		{5 * ms, 0, []time.Duration{0, 5 * ms, 10 * ms, 15 * ms, 20 * ms}},
		{5 * ms, 12 * ms, []time.Duration{0, 5 * ms, 15 * ms, 27 * ms, 39 * ms}},
	} {
		synctest.Test(t, func(t *testing.T) {
			var asked []time.Duration
			begin := time.Now()
			err := Until(t.Context(), Condition{What: "it was asked five times", Every: c.every, UpTo: c.upTo, Holds: func(context.Context) error {
				asked = append(asked, time.Since(begin))
				return Answer(len(asked) == 5, nil)
			}})
			if err != nil || !slices.Equal(asked, c.asked) {
				t.Errorf("every %v up to %v: asked at %v, want %v; %v", c.every, c.upTo, asked, c.asked, err)
			}
		})
	}
}

// TestAWaitInVain says what was awaited, why it is over, and what was said last.
func TestAWaitInVain(t *testing.T) {
	stopped, down := errors.New("stopped by the user"), errors.New("eth0 is down")
	for _, c := range []struct {
		name   string
		within time.Duration
		holds  func(context.Context) error
		want   string
		wraps  []error
	}{
		{"with its state", time.Second, func(context.Context) error { return down },
			"wait until it is up: not within 1s: eth0 is down", []error{context.DeadlineExceeded, down}},
		{"without a state", time.Second, func(context.Context) error { return Answer(false, nil) },
			"wait until it is up: not within 1s", []error{context.DeadlineExceeded}},
		{"ended by the context", 0, func(context.Context) error { return down },
			"wait until it is up: stopped by the user: eth0 is down", []error{stopped, context.DeadlineExceeded, down}},
		{"whose last answer the end cuts short", time.Second, func() func(context.Context) error {
			asked := 0
			return func(ctx context.Context) error {
				if asked++; asked == 1 {
					return down
				}
				<-ctx.Done()
				return errors.New("signal: killed")
			}
		}(), "wait until it is up: not within 1s: eth0 is down", []error{down}},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, stopped)
			defer cancel()
			err := Until(ctx, Condition{What: "it is up", Within: c.within, Every: 300 * time.Millisecond, Holds: c.holds})
			if err == nil || err.Error() != c.want {
				t.Fatalf("a wait in vain %s: %v, want %s", c.name, err, c.want)
			}
			for _, wrapped := range c.wraps {
				if !errors.Is(err, wrapped) {
					t.Errorf("a wait in vain %s does not wrap %v", c.name, wrapped)
				}
			}
		})
	}
}

// TestNeverEndsAWait at once, with the error as it is.
func TestNeverEndsAWait(t *testing.T) {
	gone := errors.New("the process has ended")
	err := Until(t.Context(), Condition{What: "it serves", Within: time.Hour, Every: time.Hour, Holds: func(context.Context) error { return Never(gone) }})
	if !errors.Is(err, gone) || err.Error() != gone.Error() { // nothing is added to it
		t.Errorf("a condition that can never hold: %v, want %v", err, gone)
	}
	if err := Answer(true, gone); !errors.Is(err, gone) {
		t.Errorf("an answer with an error: %v", err)
	}
	if Never(nil) != nil || Answer(true, nil) != nil {
		t.Error("no error is one that ends a wait")
	}
}

// TestHoldsIsAskedOnce even if the context has ended: what holds already needs no wait.
func TestHoldsIsAskedOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Until(ctx, Condition{What: "it holds", Holds: func(context.Context) error { return nil }}); err != nil {
		t.Error(err)
	}
	if err := Until(ctx, Condition{What: "it holds", Every: time.Hour, Holds: func(context.Context) error { return Answer(false, nil) }}); !errors.Is(err, context.Canceled) {
		t.Errorf("a wait whose context has ended: %v", err)
	}
}

// TestInTime: only the wait's own bound is no error.
func TestInTime(t *testing.T) {
	broken := errors.New("broken")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx   context.Context
		holds error
		yes   bool
		err   error
	}{
		"it holds":               {t.Context(), Answer(true, nil), true, nil},
		"it does not hold":       {t.Context(), Answer(false, nil), false, nil},
		"it can never hold":      {t.Context(), Never(broken), false, broken},
		"the context ended":      {ended, Answer(false, nil), false, context.Canceled},
		"it is broken, and late": {t.Context(), broken, false, nil},
	} {
		yes, err := InTime(c.ctx, Condition{What: "it holds", Within: time.Millisecond, Every: time.Millisecond, Holds: func(context.Context) error { return c.holds }})
		if yes != c.yes || !errors.Is(err, c.err) {
			t.Errorf("%s: %v, %v; want %v, %v", name, yes, err, c.yes, c.err)
		}
	}
}

// TestASlowWaitIsTold once, with what was the case by then.
func TestASlowWaitIsTold(t *testing.T) {
	for lasts, want := range map[time.Duration][]string{
		time.Second:     nil,
		3 * time.Second: {"waiting until it is up: eth0 is down"},
		time.Minute:     {"waiting until it is up: eth0 is down"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var told []string
			begin := time.Now()
			err := Until(t.Context(), Condition{
				What: "it is up", Every: 100 * time.Millisecond, Tell: func(text string) { told = append(told, text) },
				Holds: func(context.Context) error {
					if time.Since(begin) < lasts {
						return errors.New("eth0 is down")
					}
					return nil
				},
			})
			if err != nil || !slices.Equal(told, want) {
				t.Errorf("after %v: told %q, want %q; %v", lasts, told, want, err)
			}
		})
	}
}
