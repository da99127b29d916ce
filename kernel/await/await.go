// Package await waits until something holds of which no event tells: it asks, pauses, and asks again. The error of a
// wait in vain says what was awaited, for how long, and what was the case instead.
//
// It needs no privileges, and imports nothing of the project. Any number of goroutines may wait.
package await

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Condition is what is awaited.
type Condition struct {
	// What completes "wait until": "the device has a carrier".
	What string
	// Within bounds the wait; 0 for as long as the context lasts.
	Within time.Duration
	// Every is the pause between two questions. With UpTo it is the first pause, and each is twice the one
	// before, up to UpTo.
	Every, UpTo time.Duration
	// Tell receives what is awaited, and what is the case instead, once the wait has taken two seconds; may be nil.
	Tell func(string)
	// Holds is asked at least once, with a context that ends with the wait. Its error says what is not yet so;
	// that of Never ends the wait at once.
	Holds func(context.Context) error
}

// quiet is how long a wait says nothing to Tell.
const quiet = 2 * time.Second

// errNotYet is what Answer says of a condition that does not hold.
var errNotYet = errors.New("not yet")

// Answer is that of a condition of which there is nothing to say but whether it holds. An error ends the wait.
func Answer(holds bool, err error) error {
	if err != nil || holds {
		return Never(err)
	}
	return errNotYet
}

// never is an error after which the condition can no longer hold.
type never struct{ error }

func (n never) Unwrap() error { return n.error }

// Never makes an error one that ends the wait: Until returns err as it is. Never(nil) is nil.
func Never(err error) error {
	if err == nil {
		return nil
	}
	return never{err}
}

// vainError is the error of a wait in vain.
type vainError struct {
	what string
	// cause says why the wait is over, and ended is its context's error.
	cause, ended, last error
}

func (e *vainError) Error() string {
	return fmt.Sprintf("wait until %s: %v", e.what, e.cause) + instead(e.last)
}

// instead is what is the case, for the end of a sentence.
func instead(last error) string {
	if errors.Is(last, errNotYet) {
		return ""
	}
	return ": " + last.Error()
}

func (e *vainError) Unwrap() []error { return []error{e.cause, e.ended, e.last} }

// Until returns nil as soon as the condition holds. The error of a wait in vain wraps the context's error and cause
// (context.DeadlineExceeded once Within is over), and what Holds said last.
func Until(ctx context.Context, c Condition) error {
	vain, err := wait(ctx, c)
	if vain != nil {
		return vain
	}
	return err
}

// InTime reports whether the condition came to hold within its time. That it did not is no error; that the context
// ended before is.
func InTime(ctx context.Context, c Condition) (bool, error) {
	vain, err := wait(ctx, c)
	switch {
	case vain == nil:
		return err == nil, err
	case ctx.Err() == nil:
		return false, nil
	}
	return false, vain
}

// wait returns what it was in vain for, or the error that ended it.
func wait(ctx context.Context, c Condition) (*vainError, error) {
	if c.Within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.Within, fmt.Errorf("not within %v", c.Within))
		defer cancel()
	}
	var last error
	begun := time.Now()
	for pause := c.Every; ; pause = min(2*pause, max(c.Every, c.UpTo)) {
		err := c.Holds(ctx)
		if err == nil {
			return nil, nil
		}
		if final := new(never); errors.As(err, final) {
			return nil, final.error
		}
		// What the end of the wait has cut short says less than the answer before it.
		if last == nil || ctx.Err() == nil {
			last = err
		}
		if c.Tell != nil && time.Since(begun) >= quiet {
			c.Tell("waiting until " + c.What + instead(last))
			c.Tell = nil
		}
		select {
		case <-ctx.Done():
			return &vainError{c.What, context.Cause(ctx), ctx.Err(), last}, nil
		case <-time.After(pause):
		}
	}
}
