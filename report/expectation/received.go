package expectation

import (
	"fmt"
	"math"
	"slices"

	"nines.dev/nines/analysis/confidence"
	"nines.dev/nines/expect"
	"nines.dev/nines/report"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// received is the median rate at which packets arrived. Its interval is from the lowest of the trials to the highest, and
// leaves out those at either end that the median of all such trials does not need: of six or more it holds that median in
// 95 % of cases. What the host took of a trial's time can have lowered its rate, so the upper end is what the trial could
// have reached without.
func (g *gatherer) received(k known, group report.Group) known {
	var values, quiet []float64
	q := expect.Quantity{Figure: expect.Received}
	for _, t := range group.Trials {
		v, ok := report.ReceivedFigure().Of(t)
		if !ok {
			k.problem = fmt.Sprintf("trial %s does not tell the received rate: %s", t.ID, untold(t, q))
			return k
		}
		values, quiet = append(values, v), append(quiet, quietOf(g.result, q, t, v))
	}
	slices.Sort(values)
	slices.Sort(quiet)
	beyond := confidence.BeyondMedian(len(values))
	i := expect.Interval{Value: result.Median(values), Low: &values[beyond]}
	if high := quiet[len(quiet)-1-beyond]; !math.IsInf(high, 0) {
		i.High = &high
	}
	k.interval = func(float64) expect.Interval { return i }
	k.what = "in " + terminal.Count(len(values), "trial")
	if len(values) < steadyTrials {
		k.notes = append(k.notes, fmt.Sprintf("it is of the time of %s: six or more tell how much the host changes from one to the next", terminal.Count(len(values), "trial")))
	}
	return k
}

// quietOf is what a trial's rate could have been if the host had taken nothing of its time; of other quantities the value
// itself.
func quietOf(r *result.Result, q expect.Quantity, t result.Trial, value float64) float64 {
	if q.Figure != expect.Received || t.Verdict == result.Clean {
		return value
	}
	details, err := r.TrialFolder(t.ID).Details()
	if err != nil {
		return math.Inf(1) // Open has reported it
	}
	return value / (1 - takenShare(details))
}

// takenShare is the share of a trial's time that the host can have taken from what carries the packets. What threads saw
// themselves is what the kernel counts, too; a program of others counts nothing itself.
func takenShare(d result.Details) float64 {
	var seen, programs int64
	for _, gap := range d.Gaps {
		seen += gap.TotalNs
	}
	for _, program := range d.Programs {
		programs += program.RunDelayNs
	}
	taken := max(seen, d.StealNs+d.WaitedNs+d.ThrottledNs) + programs
	return min(float64(taken)/float64(max(d.ElapsedNs, d.DurationNs, 1)), mostTaken)
}

// mostTaken is the largest share of a trial's time that is taken for the host's: of more, hardly anything was measured.
const mostTaken = 0.95
