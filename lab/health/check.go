package health

import (
	"time"

	"nines.dev/nines/spec"
)

// Status is what the checks of a node say.
type Status string

// A node is starting until its first verdict; Unhealthy one has failed several checks in a row.
const (
	Starting  Status = "starting"
	Healthy   Status = "healthy"
	Unhealthy Status = "unhealthy"
)

// Health is the verdict on a node since its last start.
type Health struct {
	Status Status `json:"status"`
	// Failures is the number of failed checks in a row.
	Failures int `json:"failures,omitempty"`
	// Said is why the last check failed, and what it printed; empty after one that succeeded.
	Said string `json:"said,omitempty"`
	// Since is when the status began.
	Since time.Time `json:"since"`
}

// Outcome is how a check ended.
type Outcome struct {
	// Begun and Ended are when the check did.
	Begun, Ended time.Time
	// Failure is why it failed; empty if it succeeded.
	Failure string
}

// After is the health of a node after a check; started is when the node was started.
func (h Health) After(c spec.Healthcheck, started time.Time, o Outcome) Health {
	next := h
	next.Said = o.Failure
	switch {
	case o.Failure == "":
		next.Status, next.Failures = Healthy, 0
	case h.Status == Starting && o.Begun.Before(started.Add(time.Duration(c.StartPeriod))):
		return next // it may still be on its way
	default:
		next.Failures++
		if next.Failures >= c.Retries {
			next.Status = Unhealthy
		}
	}
	if next.Status != h.Status {
		next.Since = o.Ended
	}
	return next
}

// patienceForStart is how long it may take until the node's first check begins: what watches the nodes
// starts first, perhaps on a host that is busy.
const patienceForStart = 10 * time.Second

// Patience is how long a node may take at most until its first verdict: its start period, and then
// as many failed checks as make it unhealthy. A check may take its timeout, and then toEnd until it has
// ended and that is seen.
func Patience(c spec.Healthcheck, toEnd time.Duration) time.Duration {
	one := time.Duration(c.Interval) + time.Duration(c.Timeout) + toEnd
	return patienceForStart + time.Duration(c.StartPeriod) + time.Duration(c.Retries+1)*one
}
