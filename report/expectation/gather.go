package expectation

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"nines.dev/nines/analysis/confidence"
	"nines.dev/nines/expect"
	"nines.dev/nines/report"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// gatherer reads what a result tells of quantities, each file once.
type gatherer struct {
	result *result.Result
	trials map[string]measured // of a combination, by the ID of its first trial
	times  map[string]int64    // of a trial
}

func newGatherer(r *result.Result) *gatherer {
	return &gatherer{r, map[string]measured{}, map[string]int64{}}
}

// trafficNs is how long the packets of a trial were sent; 0 where that is not known.
func (g *gatherer) trafficNs(t result.Trial) int64 {
	if ns, ok := g.times[t.ID]; ok {
		return ns
	}
	details, err := g.result.TrialFolder(t.ID).Details()
	if err != nil {
		return 0 // Open has reported it
	}
	g.times[t.ID] = details.DurationNs
	return details.DurationNs
}

// know is what a combination tells of a quantity: its clean trials. Noisy ones count for what is undisturbed, for facts, as
// a lost packet is lost, and where there are no others to show.
func (g *gatherer) know(q expect.Quantity, group report.Group, fact bool) (known, error) {
	k := known{}
	k.suspect = suspectOf(group, q)
	if group.Invalid() {
		k.problem = "all trials are invalid: " + strings.Join(group.Trials[0].Reasons, "; ")
		return k, nil
	}
	group.Trials = group.Counted()
	if group.Verdicts()[result.Noisy] > 0 && !countsNoisy(q) && !fact {
		clean := slices.DeleteFunc(slices.Clone(group.Trials), func(t result.Trial) bool { return t.Verdict == result.Noisy })
		if k.disturbed = len(clean) == 0; !k.disturbed {
			group.Trials = clean
		}
	}
	for _, t := range group.Trials {
		k.trials = append(k.trials, t.ID)
		k.packets += t.TxPackets
		k.trafficNs += g.trafficNs(t)
	}
	if k.packets == 0 {
		k.problem = "no packet was sent"
		return k, nil
	}
	switch {
	case q.Figure == expect.Loss:
		return g.loss(k, group)
	case q.Figure == expect.Received:
		return g.received(k, group), nil
	case q.Figure == expect.Variation:
		return g.variation(k, group)
	case q.Intervals != "":
		return g.intervals(k, q, group)
	case q.IsFact():
		return factual(k, q, group), nil
	case q.Undisturbed:
		return undisturbed(k, q, group), nil
	}
	return g.percentile(k, q, group)
}

// countsNoisy reports whether trials that the host disturbed count for a quantity, as what disturbed them is left out of it
// or is in its interval.
func countsNoisy(q expect.Quantity) bool { return q.Undisturbed || q.Figure == expect.Received }

// suspectOf says which trials cannot show that something holds: "of 6 trials 2 are invalid and 4 noisy".
func suspectOf(group report.Group, q expect.Quantity) []string {
	verdicts := group.Verdicts()
	if countsNoisy(q) {
		verdicts = map[result.Verdict]int{result.Invalid: verdicts[result.Invalid]}
	}
	var parts []string
	for _, v := range []result.Verdict{result.Invalid, result.Noisy} {
		switch n := verdicts[v]; {
		case n > 0 && len(parts) > 0:
			parts = append(parts, fmt.Sprintf("%d %s", n, v))
		case n > 0:
			parts = append(parts, fmt.Sprintf("%d %s %s", n, isAre(n), v))
		}
	}
	switch all := len(group.Trials); {
	case len(parts) == 0:
		return nil
	case all == 1:
		return []string{"the trial" + strings.TrimPrefix(parts[0], "1")}
	case len(parts) == 1 && verdicts[result.Invalid]+verdicts[result.Noisy] == all:
		return []string{"all " + strings.Replace(parts[0], " ", " trials ", 1)}
	default:
		return []string{fmt.Sprintf("of %d trials %s", all, strings.Join(parts, " and "))}
	}
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// percentile is that of all packets of the combination.
func (g *gatherer) percentile(k known, q expect.Quantity, group report.Group) (known, error) {
	m, problem, err := g.measuredOf(group)
	if err != nil || problem != "" {
		k.problem = problem
		return k, err
	}
	b := &m.all
	if !result.Supports(q.P, b.Total()) {
		k.problem = fmt.Sprintf("%s packets were received, too few for %s", terminal.Grouped(b.Total()), q.Name())
		k.few = fewestClusters / (1 - q.P) / float64(max(b.Total(), 1))
		return k, nil
	}
	if !b.Tell() {
		k.problem = "too few blocks of time tell how late packets are spread: measure for longer"
		return k, nil
	}
	k.clusters = b.Percentile(q.P, confidence.Level).Clusters
	k.interval = func(level float64) expect.Interval { return m.percentile(q.P, level) }
	k.what = "of " + terminal.Grouped(b.Total()) + " packets of " + terminal.Count(len(group.Trials), "trial")
	if n := len(group.Trials); n < steadyTrials {
		k.notes = append(k.notes, fmt.Sprintf("it is of the time of %s: six or more tell how much the host changes from one to the next", terminal.Count(n, "trial")))
	}
	return k, nil
}

// steadyTrials is how many trials tell how much they differ.
const steadyTrials = 6

// measuredOf reads the time blocks of a combination's trials.
func (g *gatherer) measuredOf(group report.Group) (measured, string, error) {
	key := group.Trials[0].ID
	if m, ok := g.trials[key]; ok {
		return m, "", nil
	}
	var all [][]*result.Packed
	for _, t := range group.Trials {
		blocks, err := g.result.TrialFolder(t.ID).Blocks()
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return measured{}, "", err
		case len(blocks) == 0:
			return measured{}, fmt.Sprintf("trial %s has no time blocks: its files are missing, an older nines measured it, or it is shorter than 2 ms", t.ID), nil
		}
		all = append(all, blocks)
	}
	g.trials[key] = measuredIn(all)
	return g.trials[key], "", nil
}
