package expectation

import (
	"errors"
	"fmt"
	"io/fs"

	"nines.dev/nines/analysis/confidence"
	"nines.dev/nines/expect"
	"nines.dev/nines/report"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// factual is a count or an extreme of the trials that were made, which has no interval.
func factual(k known, q expect.Quantity, group report.Group) known {
	var value float64
	for i, t := range group.Trials {
		one := factOf(q, t)
		switch {
		case q.Dimension() == expect.Count:
			value += one
		case t.Latency.Count == 0:
			k.problem = fmt.Sprintf("no packet of trial %s was received", t.ID)
			return k
		case i == 0, q.Figure == expect.Least && one < value, q.Figure == expect.Most && one > value:
			value = one
		}
	}
	k.interval = func(float64) expect.Interval { return expect.Exact(value) }
	k.what = fmt.Sprintf("of %s packets in the %s made", terminal.Grouped(k.packets), terminal.Count(len(group.Trials), "trial"))
	k.notes = append(k.notes, "it is a fact about the trials made, and bounds nothing else")
	return k
}

func factOf(q expect.Quantity, t result.Trial) float64 {
	switch q.Figure {
	case expect.Lost:
		return float64(t.LostPackets)
	case expect.Duplicates:
		return float64(t.DuplicatePackets)
	case expect.Reordered:
		return float64(t.ReorderedPackets)
	}
	if ns := t.Latency.Figure(q.Figure); ns != nil {
		return float64(*ns)
	}
	return 0
}

// loss is the share of the packets that is lost, bounded by how unevenly losses are spread over the seconds.
func (g *gatherer) loss(k known, group report.Group) (known, error) {
	var lost float64
	for _, t := range group.Trials {
		lost += float64(t.LostPackets)
	}
	cluster, err := g.lossCluster(group)
	if err != nil {
		return k, err
	}
	sent := float64(k.packets)
	k.interval = func(level float64) expect.Interval {
		low, high := confidence.Events(lost, cluster, level)
		low, high = low/sent, min(high/sent, 1)
		return expect.Interval{Value: lost / sent, Low: &low, High: &high}
	}
	at := k.interval(confidence.Level)
	k.what = fmt.Sprintf("%s of %s packets were lost in the %s made", terminal.Grouped(lost), terminal.Grouped(k.packets), terminal.Count(len(group.Trials), "trial"))
	if lost == 0 {
		k.notes = append(k.notes, fmt.Sprintf("that no packet was lost is a fact about these trials; the loss is below %s %% (95 %%) if packets are lost one by one", terminal.Significant(100**at.High)))
	}
	return k, nil
}

// lossCluster is how many packets are lost together: the size of the second that a lost packet is in, with one more like
// the worst (confidence.Blocks takes the same for slow packets); at least 1.
func (g *gatherer) lossCluster(group report.Group) (float64, error) {
	var sum, squares, largest float64
	for _, t := range group.Trials {
		if t.LostPackets == 0 {
			continue
		}
		parts := []float64{float64(t.LostPackets)}
		rates, err := g.result.TrialFolder(t.ID).Rates()
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return 0, err
		case err == nil:
			if seconds := lostBySecond(rates); len(seconds) > 0 {
				parts = seconds
			}
		}
		for _, w := range parts {
			sum, squares, largest = sum+w, squares+w*w, max(largest, w)
		}
	}
	if sum == 0 {
		return 1, nil
	}
	return max((squares+largest*largest)/(sum+largest), 1), nil
}

// lostBySecond are the packets that were sent in each second and not received in it.
func lostBySecond(rates []result.Rate) []float64 {
	var list []float64
	for _, r := range rates {
		if r.Sent > r.Received {
			list = append(list, float64(r.Sent-r.Received))
		}
	}
	return list
}
