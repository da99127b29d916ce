package expectation

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"nines.dev/nines/analysis/confidence"
	"nines.dev/nines/exit"
	"nines.dev/nines/expect"
	"nines.dev/nines/report"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// intervalBlocks is how many blocks of time a trial's intervals are counted in: as many as package confidence uses.
const intervalBlocks = 100

// spaced are the intervals between the packets of a trial, by blocks of equal time.
type spaced [intervalBlocks][]int64

// intervals are the times from one packet to the next, where trials recorded their packets.
func (g *gatherer) intervals(k known, q expect.Quantity, group report.Group) (known, error) {
	var trials []spaced
	total := 0
	for _, t := range group.Trials {
		s, err := g.spacedOf(t, q)
		if err != nil {
			return k, err
		}
		n := s.count()
		if n < 2*intervalBlocks {
			k.problem = fmt.Sprintf("trial %s has %s, too few to tell how they are spread over time", t.ID, terminal.Count(n, "interval"))
			return k, nil
		}
		trials, total = append(trials, s), total+n
	}
	k.what = fmt.Sprintf("of %s intervals in %s", terminal.Grouped(total), terminal.Count(len(trials), "trial"))
	if len(trials) < steadyTrials {
		k.notes = append(k.notes, fmt.Sprintf("it is of the time of %s: six or more tell how much the host changes from one to the next", terminal.Count(len(trials), "trial")))
	}
	if q.Figure == expect.Within {
		k.interval = func(level float64) expect.Interval { return shareWithin(trials, q, level) }
		return k, nil
	}
	var blocks [][]*result.Packed
	for i := range trials {
		blocks = append(blocks, trials[i].histograms())
	}
	m := measuredIn(blocks)
	if !result.Supports(q.P, m.all.Total()) {
		k.problem = fmt.Sprintf("%s intervals are too few for %s", terminal.Grouped(total), q.Name())
		k.few = fewestClusters / (1 - q.P) / float64(total)
		return k, nil
	}
	k.clusters = m.all.Percentile(q.P, confidence.Level).Clusters
	k.interval = func(level float64) expect.Interval { return m.percentile(q.P, level) }
	return k, nil
}

// spacedOf reads the times of a trial's packets. Its error is that of a wrong call where the trial did not record them.
func (g *gatherer) spacedOf(t result.Trial, q expect.Quantity) (spaced, error) {
	var times []int64
	complete, err := g.result.TrialFolder(t.ID).Packets(func(rows []result.Packet) error {
		for _, p := range rows {
			switch {
			case q.Intervals == expect.SentIntervals:
				times = append(times, p.TxNs)
			case p.RxNs != nil:
				times = append(times, *p.RxNs)
			}
		}
		return nil
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if why := g.result.TrialFolder(t.ID).WhyNoPackets(); why != "" {
			return spaced{}, exit.Wrongf("%s: trial %s has no packets: %s", q, t.ID, why)
		}
		return spaced{}, exit.Wrongf("%s: trial %s did not record when its packets came: measure with 'traffic: {packets: record}'", q, t.ID)
	case err != nil:
		return spaced{}, err
	case !complete:
		return spaced{}, exit.Wrongf("%s: the recording of trial %s lacks packets, so that intervals in it are too long; %s says how many", q, t.ID, result.DetailsFile)
	}
	slices.Sort(times)
	return spacedIn(times), nil
}

// spacedIn takes the times of packets in their order. An interval is in the block in which it ends.
func spacedIn(times []int64) (s spaced) {
	if len(times) < 2 {
		return s
	}
	first := times[0]
	length := (times[len(times)-1]-first)/intervalBlocks + 1
	for i := 1; i < len(times); i++ {
		at := (times[i] - first) / length
		s[at] = append(s[at], times[i]-times[i-1])
	}
	return s
}

func (s *spaced) count() (n int) {
	for _, block := range s {
		n += len(block)
	}
	return n
}

func (s *spaced) histograms() []*result.Packed {
	var list []*result.Packed
	for _, block := range s {
		h := result.NewHistogram()
		for _, ns := range block {
			h.Record(ns)
		}
		list = append(list, h.Packed())
	}
	return list
}

// shareWithin is the share of the intervals in the range. It is bounded by how unevenly they are spread over the blocks of
// time, and has the trials' own shares in its interval.
func shareWithin(trials []spaced, q expect.Quantity, level float64) expect.Interval {
	var counts []float64
	all, sum := 0.0, 0.0
	least, most := 1.0, 0.0
	for i := range trials {
		in := 0.0
		for _, block := range trials[i] {
			n := 0.0
			for _, ns := range block {
				if float64(ns) >= q.From && float64(ns) < q.To {
					n++
				}
			}
			counts, in = append(counts, n), in+n
		}
		of := float64(trials[i].count())
		all, sum = all+of, sum+in
		least, most = min(least, in/of), max(most, in/of)
	}
	low, high := confidence.Events(sum, confidence.Cluster(counts), level)
	low, high = min(low/all, least), min(max(high/all, most), 1)
	return expect.Interval{Value: sum / all, Low: &low, High: &high}
}
