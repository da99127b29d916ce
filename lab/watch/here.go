package watch

import (
	"context"
	"fmt"

	"nines.dev/nines/lab/running"
)

// Here is a watcher in this process.
type Here struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// Begin watches the lab's nodes in this process, until Stop; nil if there is none to watch.
func Begin(l *running.Lab, options Options) *Here {
	if !l.Plan().Watched() {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	h := &Here{cancel, make(chan struct{})}
	go func() {
		defer close(h.done)
		if err := newWatcher(l, false, options).run(ctx); err != nil && ctx.Err() == nil {
			options.Say(fmt.Sprintf("health checks and restart policies have stopped: %v", err))
		}
	}()
	return h
}

// Stop returns when nothing watches in this process.
func (h *Here) Stop() {
	if h == nil {
		return
	}
	h.cancel()
	<-h.done
}
