package agent

import (
	"context"
	"math"
	"runtime"
	"sync"
	"time"

	"nines.dev/nines/cluster/agent/measure"
	"nines.dev/nines/kernel/cputime"
)

// watchEach is for how long the node may be busy during a trial, as before one: pods that start in the last second of five
// make a tail as well, and leave the CPUs idle on the whole.
const watchEach = time.Second

// Watch begins to watch how busy the node is during a trial, of which so many threads spin, until ctx ends. The function that
// it returns ends it, and reports whether the node was too busy for a trial in one of its seconds. What the agent itself
// uses does not count: to begin and to end a trial takes a CPU for a while.
func (a *Agent) Watch(ctx context.Context, spinning int) func() bool {
	ctx, end := context.WithCancel(ctx)
	busy := make(chan bool, 1)
	go func() {
		was := false
		part := watchEach
		if a.Used == nil {
			part = time.Duration(math.MaxInt64) // only the whole trial tells, of which its own threads use little
		}
		for ctx.Err() == nil {
			was = a.othersBusy(ctx, part, spinning) || was
		}
		busy <- was
	}()
	return sync.OnceValue(func() bool {
		end()
		return <-busy
	})
}

// othersBusy reports whether the node was too busy for a trial, for as long, or until ctx ends.
func (a *Agent) othersBusy(ctx context.Context, length time.Duration, spinning int) bool {
	began := time.Now()
	before, err := cputime.Now()
	used, unknown := time.Duration(0), a.Used == nil
	if !unknown {
		var failed error
		used, failed = a.Used()
		unknown = failed != nil
	}
	select {
	case <-ctx.Done():
	case <-time.After(length):
	}
	took := time.Since(began)
	if err != nil || took < watchEach/2 {
		return false // nothing is known, or too little
	}
	idle, err := before.IdleSince()
	if err != nil {
		return false
	}
	own := float64(spinning)
	if !unknown {
		if now, err := a.Used(); err == nil {
			own = float64(now-used) / float64(took)
		}
	}
	return measure.Busy(idle+own/float64(runtime.NumCPU()), a.Idle) != ""
}
