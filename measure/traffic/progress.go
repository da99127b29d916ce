package traffic

import (
	"sync"

	"nines.dev/nines/engine/client"
)

// Progress is how far a trial is, about once a second.
type Progress struct {
	Second int
	// Offered, Sent and Received are packets since the first measured one.
	Offered, Sent, Received uint64
	// Seen are some of the packets since the progress before; none where the engine keeps no list of them.
	Seen []client.Glimpsed
}

// telling tells the progress of one trial, of which the halves of a pair tell a part each.
type telling struct {
	mu   sync.Mutex // each half has its own goroutine
	tell func(Progress)
	// sent and received are what each half has told of its seconds that the other has not told yet.
	sent, received []client.Progress
	told           Progress
	arrivals       *client.Arrivals
	glance         *client.Glance
}

// telling is that of the next trial; nil if nobody listens.
func (g *Generator) telling(tell func(Progress)) *telling {
	if tell == nil {
		return nil
	}
	return &telling{tell: tell, arrivals: g.arrivals}
}

// whole hears the thread of a loop, which sends and receives.
func (t *telling) whole() func(client.Progress) {
	return t.hear(func(p client.Progress) { t.sent, t.received = append(t.sent, p), append(t.received, p) })
}

func (t *telling) sender() func(client.Progress) {
	return t.hear(func(p client.Progress) { t.sent = append(t.sent, p) })
}

func (t *telling) receiver() func(client.Progress) {
	return t.hear(func(p client.Progress) { t.received = append(t.received, p) })
}

// hear keeps what a half tells, and tells of the seconds that both have told. A half alone would make packets lost that
// it has not heard about.
func (t *telling) hear(keep func(client.Progress)) func(client.Progress) {
	if t == nil {
		return nil
	}
	return func(p client.Progress) {
		t.mu.Lock()
		defer t.mu.Unlock()
		keep(p)
		for len(t.sent) > 0 && len(t.received) > 0 {
			t.told.Second = t.received[0].Second
			t.told.Offered += t.sent[0].Offered
			t.told.Sent += t.sent[0].Sent
			t.told.Received += t.received[0].Received
			t.sent, t.received = t.sent[1:], t.received[1:]
			t.told.Seen = t.look()
			t.tell(t.told)
		}
	}
}

// look sees some of the packets. Progress is no part of what is measured: an error leaves them out.
func (t *telling) look() []client.Glimpsed {
	if t.glance == nil && t.arrivals != nil {
		glance, err := t.arrivals.Glance()
		if err != nil {
			t.arrivals = nil
			return nil
		}
		t.glance = glance
	}
	if t.glance == nil {
		return nil
	}
	return t.glance.Look()
}

// end is called when the trial has ended.
func (t *telling) end() error {
	if t == nil || t.glance == nil {
		return nil
	}
	return t.glance.Close()
}
