package hugepages

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestAwaitFree(t *testing.T) {
	h := newHost(t, 40, 20)
	if err := h.pool.awaitFree(context.Background(), 20); err != nil {
		t.Error(err)
	}
	time.AfterFunc(50*time.Millisecond, func() { h.used = 0; h.set(40) })
	if err := h.pool.awaitFree(context.Background(), 40); err != nil {
		t.Error(err)
	}
	h.free(40)
	// Pages that the pool does not have never come.
	if err := h.pool.awaitFree(context.Background(), 41); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	h.used = 1
	h.set(40)
	if err := h.pool.awaitFree(ctx, 40); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
