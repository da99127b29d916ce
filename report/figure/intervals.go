package figure

import (
	"errors"
	"io/fs"
	"maps"
	"slices"

	"nines.dev/nines/report"
	"nines.dev/nines/result"
)

// intervalsShown is the default length of the axis in median intervals at the sender: a stall is
// thousands of times as long, and would hide everything else.
const intervalsShown = 4

// intervals plots packets by the time since the previous one, at the sender and at the receiver
// (002, figure 2: the packet interval time).
func (s *selection) intervals() (*Figure, error) {
	var list []spaced
	var groups []report.Group
	for _, g := range s.groups() {
		one := spaced{sent: map[int64]float64{}, received: map[int64]float64{}}
		for _, t := range g.Drawn() {
			if err := one.add(s.folder(t.ID)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
		}
		if len(one.sent) > 0 {
			list, groups = append(list, one), append(groups, g)
		}
	}
	var all []counted
	top := int64(1)
	identities := identitiesOf(groups)
	for i, label := range groupLabels(groups) {
		if label != "" {
			label += ", "
		}
		all = append(all, counting(label+"sent", identities[i].with("sent"), list[i].sent))
		if len(list[i].received) > 0 {
			all = append(all, counting(label+"received", identities[i].with("received"), list[i].received))
		}
		top = max(top, intervalsShown*list[i].median())
	}
	if len(all) == 0 {
		return &Figure{}, nil
	}
	if s.MaxLatencyNs > 0 {
		top = s.MaxLatencyNs
	}
	return s.staircases(all, "time since the packet before", top, equalBins(all, top)), nil
}

// spaced counts packets by nanoseconds since the previous one.
type spaced struct{ sent, received map[int64]float64 }

// add counts a trial's. Packets are in send order; the receive intervals need them in order of
// arrival.
func (c spaced) add(f result.Folder) error {
	var received []int64
	before, first := int64(0), true
	_, err := f.Packets(func(rows []result.Packet) error {
		for _, p := range rows {
			if !first {
				c.sent[p.TxNs-before]++
			}
			before, first = p.TxNs, false
			if p.RxNs != nil {
				received = append(received, *p.RxNs)
			}
		}
		return nil
	})
	slices.Sort(received)
	for i := 1; i < len(received); i++ {
		c.received[received[i]-received[i-1]]++
	}
	return err
}

// median is the median interval at the sender.
func (c spaced) median() int64 {
	half := 0.0
	for _, count := range c.sent {
		half += count / 2
	}
	for _, ns := range slices.Sorted(maps.Keys(c.sent)) {
		if half -= c.sent[ns]; half <= 0 {
			return ns
		}
	}
	return 0
}

func counting(label string, of identity, by map[int64]float64) counted {
	c := counted{label: label, of: of}
	for _, ns := range slices.Sorted(maps.Keys(by)) {
		c.values, c.counts = append(c.values, ns), append(c.counts, by[ns])
	}
	return c
}
