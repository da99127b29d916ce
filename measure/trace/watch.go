package trace

import (
	"cmp"
	"slices"
)

// watching reads all records, for what kept threads from running, not only those around
// what was announced.
type watching struct {
	*stalls
	// read is how far each ring was read, and until the time up to which.
	read  []uint64
	until int64
	// lost is how many records were overwritten before they were read.
	lost uint64
}

// WatchThreads has the recorder look, from now on, for what keeps these threads from
// running: the events around the longest of their stalls are kept as those around the
// slowest packets are. It can be called again, with further threads, or with
// the new name of one that has executed another program.
func (r *Recorder) WatchThreads(thresholdNs int64, threads map[int]string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.watching == nil {
		w := &watching{stalls: newStalls(thresholdNs, r.config.Slowest), read: make([]uint64, len(r.rings))}
		for i, ring := range r.rings {
			w.read[i] = ring.head()
		}
		r.watching = w
	}
	for tid, name := range threads {
		r.watching.watch(uint32(tid), name)
	}
}

// Stalls is what kept the watched threads from running so far: of each thread, and the
// longest of all. Lost is how many records were overwritten before they were read.
func (r *Recorder) Stalls() (threads []ThreadStalls, longest []Stall, lost uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.watching == nil {
		return nil, nil, 0
	}
	if !r.stopping.Load() {
		r.watch(monotonic())
	}
	return r.watching.each(max(r.watching.until, 0)), r.watching.slowest(), r.watching.lost
}

// watch reads the records until some microseconds ago: those of interrupts may come later
// than what they came in between.
func (c *collector) watch(now int64) {
	w := c.watching
	if w == nil {
		return
	}
	until := now - slackNs
	var records []placed
	for i, ring := range c.rings {
		head := ring.head()
		if oldest := ring.oldest(head); w.read[i] < oldest {
			w.lost += oldest - w.read[i]
			w.read[i] = oldest
		}
		for w.read[i] < head {
			record, ok := ring.at(w.read[i])
			if ok && record.ns > until {
				break
			}
			w.read[i]++
			switch {
			case !ok:
				w.lost++
			case record.kind <= kindVectorExit || record.kind == kindSpan:
				records = append(records, placed{record, ring.cpu})
			}
		}
	}
	slices.SortStableFunc(records, func(a, b placed) int { return cmp.Compare(a.ns, b.ns) })
	announce := func(s Stall) {
		c.announce(Packet{ID: s.ID, BeginNs: s.BeginNs, EndNs: s.EndNs, LatencyNs: s.LengthNs()})
	}
	for _, r := range records {
		w.step(r, announce)
	}
	for i, ring := range c.rings {
		// Nothing is under way, and nothing has ended since: no softirq is around the last.
		if len(ring.underWay()) == 0 && ring.head() == w.read[i] {
			w.settle(w.cpu(ring.cpu), announce)
		}
	}
	w.until = until
}

// Announcements reads what an engine announces, for who decides by itself what to Keep.
type Announcements struct{ source *source }

// OpenAnnouncements begins with what is announced first; see Recorder.Follow.
func OpenAnnouncements(n Notices) (*Announcements, error) {
	s, err := newSource(n)
	if err != nil {
		return nil, err
	}
	return &Announcements{s}, nil
}

// Read is what was announced since the last call, and how many announcements were
// overwritten before they were read.
func (a *Announcements) Read() (packets []Packet, missed uint64) { return a.source.read() }
