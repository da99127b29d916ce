package method

import (
	"context"
	"fmt"
	"math"
	"time"

	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// Soak holds a rate for hours, in windows of a minute each with its own histogram, and reports on
// the network as a whole and on its worst window.
//
// A soak outlives the program that runs it. Its state holds every window so far, is a plain value,
// and is all that is needed to continue: Next says what to run, Add takes the outcome, and Result
// reads the state at any time.
type Soak struct {
	// RatePPS is the offered rate.
	RatePPS float64
	// Length is the duration of all windows together, Window that of one.
	Length, Window time.Duration
	// Settle is the pause between windows, Drain the wait for stragglers; with 0 the trial decides.
	Settle, Drain time.Duration
	Limits        Limits
}

// The defaults: the 12 hours of the evaluations to reproduce, and a window that shows what an hour
// hides.
const (
	soakLength      = time.Duration(spec.DefaultSoak)
	soakWindow      = time.Minute
	soakQuickLength = 10 * time.Second
	soakQuickWindow = time.Second
)

// SoakOf returns the options for an experiment file, at the traffic's rate.
func SoakOf(m spec.Method, ratePPS float64) (Soak, error) {
	o := Soak{
		RatePPS: ratePPS, Length: soakLength, Window: soakWindow,
		Settle: time.Duration(m.Settle), Limits: limitsOf(m.Limits),
	}
	if m.Quick {
		o.Length, o.Window = soakQuickLength, soakQuickWindow
	}
	if m.Soak > 0 {
		o.Length = time.Duration(m.Soak)
	}
	if m.Window > 0 {
		o.Window = time.Duration(m.Window)
	}
	o.Window = min(o.Window, o.Length)
	return o, o.check()
}

// SoakState is the progress of a soak. Its zero value is a soak that has not begun. The JSON lacks
// the histograms; its reader restores them for each window.
type SoakState struct {
	Windows []SoakWindow `json:"windows"`
	// Interruptions is how often the soak was interrupted and resumed.
	Interruptions int `json:"interruptions"`
}

// SoakWindow is one window of a soak.
type SoakWindow struct {
	// Trial is the ID of the trial.
	Trial    string        `json:"trial"`
	Lasts    time.Duration `json:"lasts_ns"`
	Elapsed  time.Duration `json:"elapsed_ns"`
	Intended uint64        `json:"intended_packets"`
	Received uint64        `json:"received_packets"`
	// Invalid says why the window is unreliable; its loss counts, since users waited for the
	// packets, but its latency does not.
	Invalid string `json:"invalid,omitempty"`
	// ClockError is as in Outcome.
	ClockError time.Duration     `json:"clock_error_ns,omitempty"`
	Latency    *result.Histogram `json:"-"`
}

// Next returns the load of the next window, or false when the soak is over.
func (o Soak) Next(s SoakState) (Load, bool) {
	left := o.Length - s.lasted()
	if left <= 0 {
		return Load{}, false
	}
	lasts := min(o.Window, left)
	if left-lasts < lasts/2 { // avoid a last window much shorter than the others
		lasts = left
	}
	windows := len(s.Windows) + int(math.Ceil(float64(left)/float64(lasts)))
	return Load{
		RatePPS: o.RatePPS, Duration: lasts, Settle: o.Settle, Drain: o.Drain,
		Purpose: fmt.Sprintf("latency in window %d of %d", len(s.Windows)+1, windows),
	}, true
}

// lasted is the total duration of the windows so far.
func (s SoakState) lasted() time.Duration {
	var sum time.Duration
	for _, w := range s.Windows {
		sum += w.Lasts
	}
	return sum
}

// Add returns the state after one more window.
func (s SoakState) Add(load Load, o Outcome) SoakState {
	s.Windows = append(s.Windows[:len(s.Windows):len(s.Windows)], SoakWindow{
		Trial: o.ID, Lasts: load.Duration, Elapsed: o.Elapsed,
		Intended: o.Intended, Received: o.Received, Invalid: o.Invalid, Latency: o.Latency, ClockError: o.ClockError,
	})
	return s
}

// Run runs the remaining windows and hands over each new state to keep before it continues. With an
// error the result covers the windows so far.
func (o Soak) Run(ctx context.Context, trial Trial, s SoakState, keep func(SoakState) error) (result.Search, error) {
	if err := o.check(); err != nil {
		return o.Result(s), err
	}
	for {
		load, more := o.Next(s)
		if !more {
			return o.Result(s), nil
		}
		if err := ctx.Err(); err != nil {
			return o.Result(s), err
		}
		outcome, err := trial(ctx, load)
		if err != nil {
			return o.Result(s), fmt.Errorf("%s: %w", load.Purpose, err)
		}
		s = s.Add(load, outcome)
		if err := keep(s); err != nil {
			return o.Result(s), err
		}
	}
}

// check says what is wrong with the options.
func (o Soak) check() error {
	switch {
	case !isRate(o.RatePPS):
		return fmt.Errorf("method: a soak needs a rate above 0, not %g packets/s", o.RatePPS)
	case o.Length <= 0 || o.Window <= 0:
		return fmt.Errorf("method: a soak and its windows must last, not %s and %s", o.Length, o.Window)
	}
	return o.Limits.check()
}
