package trace

import (
	"cmp"
	"slices"
)

// watching reads all records, to find what kept threads from running, not only those around
// announced packets.
type watching struct {
	*stalls
	// read is how far each ring has been read, and up to what time.
	read  []uint64
	until int64
	// lost is the number of records overwritten before they were read.
	lost uint64
}

// WatchThreads makes the recorder look for what keeps these threads from running: it keeps the
// events around their longest stalls, as around the slowest packets. Call it again to add threads,
// or to rename one that has executed another program.
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

// Stalls returns what has kept the watched threads from running: per thread, and the longest of
// all. Lost is the number of records overwritten before they were read.
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

// watch reads the records up to some microseconds ago: records of interrupts may come later than
// what they interrupted.
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
		// Nothing is running, and nothing has ended since: no softirq encloses the last record.
		if len(ring.underWay()) == 0 && ring.head() == w.read[i] {
			w.settle(w.cpu(ring.cpu), announce)
		}
	}
	w.until = until
}

// Announcements reads what an engine announces, for callers that decide themselves what to Keep.
type Announcements struct{ source *source }

// OpenAnnouncements starts with the first announcement; see Recorder.Follow.
func OpenAnnouncements(n Notices) (*Announcements, error) {
	s, err := newSource(n)
	if err != nil {
		return nil, err
	}
	return &Announcements{s}, nil
}

// Read returns what was announced since the last call, and how many announcements were overwritten
// before they were read.
func (a *Announcements) Read() (packets []Packet, missed uint64) { return a.source.read() }
