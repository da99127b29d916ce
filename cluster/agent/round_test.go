package agent

import (
	"context"
	"errors"
	"testing"
	"time"

	"nines.dev/nines/cluster/agent/measure"
	"nines.dev/nines/cluster/agent/peer"
)

// fast are trials of 1 µs.
type fast struct{}

func (fast) Run(context.Context, measure.Tier, measure.Load) (measure.Trial, error) {
	return took(time.Microsecond, time.Now()), nil
}

// TestTheNodesFiguresDoNotWaitForItsPaths: pods are placed by them while the paths to other nodes are measured.
func TestTheNodesFiguresDoNotWaitForItsPaths(t *testing.T) {
	var s shelf
	a := s.started(t)
	a.Runner, a.Slot, a.Budget = fast{}, measure.NewSlot(), measure.Budget{CPU: time.Hour, Packets: 1 << 30}
	published := false
	gone := errors.New("no agents")
	a.Between = &Between{Most: 1, Agents: &peer.Directory{Find: func(context.Context) ([]peer.Peer, error) {
		published = s.object != nil
		return nil, gone
	}}}
	if _, err := a.round(t.Context()); !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
	if !published {
		t.Error("the paths were begun before the figures of the node were published")
	}
	s.bounds(t) // there is one figure
}
