package agent

import (
	"context"
	"runtime"
	"testing"
	"time"
)

// TestANodeIsBusyByWhatOthersUse: neither of these depends on what the host does meanwhile.
func TestANodeIsBusyByWhatOthersUse(t *testing.T) {
	began := time.Now()
	nothing := func() (time.Duration, error) { return 0, nil }
	everything := func() (time.Duration, error) { return time.Duration(runtime.NumCPU()) * time.Since(began), nil }
	for name, test := range map[string]struct {
		used     func() (time.Duration, error)
		spinning int
		idle     float64
		length   time.Duration
		busy     bool
	}{
		"more idle than can be":        {nothing, 0, 1.1, 1500 * time.Millisecond, true},
		"all of it is the agent's own": {everything, 0, 0.9, 1500 * time.Millisecond, false},
		"own use is unknown":           {nil, 0, 1.1, watchEach, true},
		"all of it spins":              {nil, runtime.NumCPU(), 0.9, watchEach, false},
	} {
		t.Run(name, func(t *testing.T) {
			a := &Agent{Idle: test.idle, Used: test.used}
			busy := a.Watch(t.Context(), test.spinning)
			time.Sleep(test.length)
			if was := busy(); was != test.busy || busy() != was {
				t.Errorf("busy: %t", was)
			}
		})
	}
	// Who never asks leaves nothing behind: it ends with the context.
	ctx, end := context.WithCancel(t.Context())
	busy := (&Agent{Idle: 0, Used: nothing}).Watch(ctx, 0)
	end()
	if busy() {
		t.Error("it was busy, and need not be idle")
	}
}
