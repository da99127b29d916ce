package client

import (
	"errors"
	"math"
)

// A glance reads at most glanceBlocks times glanceRows rows, which are 32 KiB: neighbouring ones, so that the memory is
// fetched in whole cache lines, from blocks that are spread over all rows since the last one.
const (
	glanceBlocks = 64
	glanceRows   = 64
)

// Glance looks at some of the packets of a trial that runs, for those who want to know how it goes. It reads memory that
// the engine has already written and will not write again, so the engine does nothing for it, and it disturbs nobody who
// takes all packets. One goroutine may use it.
type Glance struct{ view Arrivals }

// Glance begins with the first packet of the trial that runs.
func (a *Arrivals) Glance() (*Glance, error) {
	g := &Glance{view: Arrivals{file: a.file}}
	if err := g.view.Begin(); err != nil {
		return nil, err
	}
	if g.view.State() == TrialEnded {
		return nil, errors.Join(errors.New("no trial that keeps arrivals is running"), g.Close())
	}
	return g, nil
}

// Close gives its view of the memory back.
func (g *Glance) Close() error { return g.view.unmap() }

// Glimpsed is a packet that a glance saw.
type Glimpsed struct {
	LatencyNs uint32 // 0xffffffff: that or longer
	SideB     bool   // of a duet's second stream
}

// Look returns some of the packets that have come since it was last called: all, if they are few.
func (g *Glance) Look() []Glimpsed {
	from := g.view.next
	written := min(g.view.word(arrivalsWritten), g.view.word(arrivalsCapacity))
	rows := written - min(from, written)
	g.view.next = max(from, written)
	seen := make([]Glimpsed, 0, min(rows, glanceBlocks*glanceRows))
	take := func(from, to uint64) {
		for i := from; i < to; i++ {
			row := g.view.row(i)
			if row == arrivalsCarry {
				continue // no packet, but a long time without one
			}
			seen = append(seen, Glimpsed{uint32(row >> 32), row&arrivalsSideB != 0})
		}
	}
	if rows <= glanceBlocks*glanceRows {
		take(from, written)
		return seen
	}
	for block := range uint64(glanceBlocks) {
		begin := from + uint64(math.Round(float64(block)*float64(rows-glanceRows)/(glanceBlocks-1)))
		take(begin, begin+glanceRows)
	}
	return seen
}
