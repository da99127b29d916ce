package figure

import (
	"cmp"
	"maps"
	"slices"

	"nines.dev/nines/report"
	"nines.dev/nines/result"
)

// mostThreads is how many threads of a combination have a series of their own; those with the fewest interruptions share
// one.
const mostThreads = mostLooks - 1

// jitter plots what kept the threads and CPUs of the packets' path from running: when, and for how long. Of a result of
// 'nines trace jitter' these are the longest gaps of each CPU.
func (s *selection) jitter() (*Figure, error) {
	f := &Figure{}
	groups := s.groups()
	identities, labels := identitiesOf(groups), groupLabels(groups)
	for i, g := range groups {
		threads, err := s.interruptions(g)
		if err != nil {
			return nil, err
		}
		for _, name := range slices.Sorted(maps.Keys(threads)) {
			of := identities[i].with(name)
			f.Series = append(f.Series, Series{Label: of.label(labels[i]), Look: len(f.Series), Shape: Dots, Points: s.longest(threads[name]), of: of})
		}
	}
	low, high, ok := f.extent()
	if !ok {
		return &Figure{}, nil
	}
	f.timeAxis("time (s)", high.X)
	f.Y = logAxis("interrupted for (µs)", low.Y, s.highest(high.Y))
	return f, nil
}

// interruptions are those of a group's trials, by thread; without a name where a trial is one thread.
func (s *selection) interruptions(g report.Group) (map[string][]Point, error) {
	threads := map[string][]Point{}
	for _, t := range g.Drawn() {
		if t.Interruptions == nil {
			if err := s.gaps(t, threads); err != nil {
				return nil, err
			}
			continue
		}
		rows, err := s.folder(t.ID).Interruptions()
		if s.missing(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			threads[row.Thread] = append(threads[row.Thread], Point{float64(max(row.BeginNs, 0)) / 1e9, us(row.LengthNs)})
		}
		s.noteWitnesses(t.Interruptions)
		if len(g.Drawn()) > 1 {
			s.note("the interruptions of each repeat are drawn over one another")
		}
	}
	for len(threads) > mostLooks {
		fewest := slices.SortedFunc(maps.Keys(threads), func(a, b string) int {
			return cmp.Or(cmp.Compare(len(threads[b]), len(threads[a])), cmp.Compare(a, b))
		})[mostThreads:]
		var shared []Point
		for _, name := range fewest {
			shared = append(shared, threads[name]...)
			delete(threads, name)
		}
		threads["others"] = shared
	}
	return threads, nil
}

// gaps adds the longest gaps of a CPU or a thread, which are the packets of a measurement of jitter.
func (s *selection) gaps(t result.Trial, threads map[string][]Point) error {
	of := slices.IndexFunc(s.trials, func(e report.Evidence) bool { return e.Trial.ID == t.ID })
	if !s.trials[of].Details.OfStretches() {
		return nil
	}
	outliers, err := s.folder(t.ID).Outliers()
	if s.missing(err) || err != nil {
		return err
	}
	for _, o := range outliers {
		threads[""] = append(threads[""], Point{float64(o.IntendedNs) / 1e9, us(o.LatencyNs)})
	}
	if uint64(len(outliers)) < t.RxPackets {
		s.note("of each CPU the %s longest gaps are drawn", numeral(float64(len(outliers))))
	}
	return nil
}

// noteWitnesses says what the list lacks.
func (s *selection) noteWitnesses(i *result.Interruptions) {
	for _, w := range i.Witnesses {
		if w.Overflow > 0 {
			s.note("the list of %s had no room for some interruptions", w.Thread)
		}
	}
	for _, unseen := range i.Unseen {
		s.note("not seen: %s", unseen)
	}
}
