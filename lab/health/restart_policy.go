package health

import (
	"time"

	"nines.dev/nines/spec"
)

// Seen is what is seen of a node.
type Seen struct {
	// Alive is true while it runs; Ended is how it has ended, if it does not.
	Alive bool
	Ended Ending
	// Stopped is true for a node that someone has stopped, or that is being stopped or started.
	Stopped bool
	// Broken says what of a running node has ended: its engine; empty if nothing has.
	Broken string
	// Health is the verdict of its checks; zero without checks.
	Health Health
}

// Ending is how a node has ended.
type Ending int

const (
	// EndedUnknown is an end whose exit status the kernel no longer has (before Linux 6.15).
	EndedUnknown Ending = iota
	// EndedWell is an end with the exit code 0, as of a container that powers off.
	EndedWell
	// EndedBadly is an end with another exit code, or by a signal.
	EndedBadly
)

// Reason says why a policy wants a node to be started again; empty if it does not. An end of which
// nothing is known counts as a failure.
func Reason(policy spec.RestartPolicy, s Seen) string {
	if policy == "" || policy == spec.RestartNo || s.Stopped {
		return ""
	}
	switch {
	case !s.Alive && s.Ended == EndedWell && policy != spec.RestartAlways:
		return ""
	case !s.Alive && s.Ended == EndedWell:
		return "it had exited with code 0"
	case !s.Alive:
		return "it had died"
	case s.Broken != "":
		return s.Broken
	case s.Health.Status == Unhealthy:
		return "it was unhealthy: " + s.Health.Said
	}
	return ""
}

// The pauses before a node is started again: they double, so that one which ends at once does not
// take the host's time, and start at the first again when it has run for a while.
const (
	FirstPause = 100 * time.Millisecond
	MostPause  = 10 * time.Second
	// GoodRun is how long a node has to run until its pauses start at the first again.
	GoodRun = 10 * time.Second
)

// Attempts are a node's starts by its policy, one after the other.
type Attempts struct {
	// InARow is how many there were since the last good run.
	InARow int
	// Last is when the last start ended.
	Last time.Time
}

// Next is when a node that has to be started again may be, and what its attempts are by then.
func (a Attempts) Next(noticed time.Time) (time.Time, Attempts) {
	if !a.Last.IsZero() && noticed.Sub(a.Last) >= GoodRun {
		a.InARow = 0
	}
	pause := MostPause
	if a.InARow < 7 { // 100 ms << 7 is more than 10 s
		pause = FirstPause << a.InARow
	}
	return noticed.Add(pause), a
}

// Made notes a start that ended at a time.
func (a Attempts) Made(at time.Time) Attempts { return Attempts{InARow: a.InARow + 1, Last: at} }
