package dra

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"nines.dev/nines/cluster/port"
)

// looked is the result of checking a switch.
type looked struct {
	at  time.Time
	err error
}

// serving returns what the node can give now: it leaves out the ports of a switch that does not serve, because
// a pod with one would never start.
func (s *Service) serving(ctx context.Context, inv Inventory) Inventory {
	return inv.without(func(p port.Port) bool {
		switch {
		case p.InSwitch():
			return !s.switched
		case p.InOVS():
			return s.reach(ctx, p) != nil
		}
		return false
	})
}

// reach checks a port's switch, less often while it serves.
func (s *Service) reach(ctx context.Context, p port.Port) error {
	place := p.Place()
	last, known := s.looked[place]
	again := readAgain
	if last.err != nil {
		again = lookAgain
	}
	if known && time.Since(last.at) < again {
		return last.err
	}
	ctx, cancel := context.WithTimeout(ctx, switchPatience)
	defer cancel()
	err := p.Available(ctx)
	if !known || fmt.Sprint(err) != fmt.Sprint(last.err) {
		slog.Info("state of a switch of the node", "tier", p.Tier, "parent", p.Parent, "serves", err == nil, "error", err)
	}
	if s.looked == nil {
		s.looked = map[string]looked{}
	}
	s.looked[place] = looked{at: time.Now(), err: err}
	return err
}
