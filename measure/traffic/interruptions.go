package traffic

import (
	"errors"
	"time"

	"nines.dev/nines/engine/client"
)

// listed is what a measuring thread has listed of its interruptions so far.
type listed struct {
	threads []client.Interrupted
	err     error
}

// hear keeps the newest answer.
func (p *process) hear(threads []client.Interrupted, err error) {
	select {
	case <-p.listed:
	default:
	}
	p.listed <- listed{threads, err}
}

// listPatience is how long an engine whose trial pauses may take to answer.
const listPatience = 2 * time.Second

// Interruptions are what interrupted the measuring threads of the running trial so far: the sender's, and the receiver's
// if that is another. Call it from Looks.Look.
func (g *Generator) Interruptions() ([][]client.Interrupted, error) {
	var all [][]client.Interrupted
	for _, p := range g.processes() {
		if err := p.AskInterruptions(); err != nil {
			return nil, err
		}
		select {
		case l := <-p.listed:
			if l.err != nil {
				return nil, l.err
			}
			all = append(all, l.threads)
		case <-time.After(listPatience):
			return nil, errors.New("the engine did not tell what interrupted it")
		}
	}
	return all, nil
}

// PausedNs is how long a duet's traffic has paused so far. Call it from Looks.Look.
func (g *Generator) PausedNs() int64 { return g.arrivals.PausedNs() }

// TrafficBegan is when the first measured packet of a duet was due, by this host's CLOCK_MONOTONIC. Call it from
// Looks.Look.
func (g *Generator) TrafficBegan() int64 { return g.trafficBegan }
