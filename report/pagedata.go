package report

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sort"
	"time"

	"nines.dev/nines/analysis/extreme"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// PageSchema names the format of the page's data. web/src/data.ts has its types, which make
// generate writes from these types.
const PageSchema = "nines/page/v1"

// Limits that keep a page of hundreds of trials small enough to open, and the memory for making it
// bounded, whatever the result holds.
const (
	maxPageTrials    = 1000   // about 30 MB, which browsers take some seconds for
	maxPageOutliers  = 60_000 // of all trials together
	maxPageRateRows  = 200_000
	maxPageGaps      = 20_000
	minTrialOutliers = 100 // of one
	maxPageProblems  = 200
	maxTrialGaps     = 50
	maxTrialRateRows = 1000
	maxTrialFlows    = 64
	maxPageDetails   = 32 << 20 // bytes, and as many of scripts
	maxTrialDetails  = 1 << 20
	minTrialDetails  = 32 << 10
)

// pageData is everything that the page shows.
type pageData struct {
	Schema    string      `json:"schema"`
	Name      string      `json:"name"`
	Started   time.Time   `json:"started"`
	Variables []string    `json:"variables"`
	Groups    []pageGroup `json:"groups"`
	Trials    []pageTrial `json:"trials"`
	Totals    Totals      `json:"totals"`
	// Answer is what the result says, in sentences.
	Answer []string `json:"answer"`
	// Expected are the decisions on what was expected of it.
	Expected []Expected `json:"expected"`
	// Swept are the variables with several values, the outermost loop first.
	Swept []string `json:"swept"`
	// Wakes says what the latencies of ends that sleep contain; empty: none sleeps.
	Wakes string `json:"wakes,omitempty"`
	// Undisturbed is what is known of the latencies without the host's interruptions, in words.
	Undisturbed []string    `json:"undisturbed,omitempty"`
	Baselines   []pageTrial `json:"baselines"`
	// Searches are the findings of search methods.
	Searches []SearchGroup `json:"searches"`
	// Tails are the estimates of the 99.99999th percentile from each group's slowest packets.
	Tails []GroupTail `json:"tails"`
	// Packets are those of trials with a record of each packet; their metrics.json has all flows.
	Packets []pagePackets `json:"packets"`
	// Pairs are those of captures, over time.
	Pairs []pagePair `json:"pairs"`
	// Duets are trials with two sides.
	Duets []pageVariants `json:"duets"`
	// Traces are those of traced trials.
	Traces []pageTrace `json:"traces"`
	// Figures are chosen by what varies; Curves are published percentile curves.
	Figures    []Chosen           `json:"figures"`
	Curves     []result.Published `json:"published_curves"`
	Skipped    []result.Skipped   `json:"skipped"`
	Host       json.RawMessage    `json:"host"`
	Plan       json.RawMessage    `json:"plan"`
	Experiment string             `json:"experiment"`
	// Problems are missing or damaged files.
	Problems []string `json:"problems"`

	told map[string]bool // the problems
	cut  map[string]int  // trials, by what the page has not all of
}

// pageGroup is all repeats of the same variables. Its curves combine all packets of its valid
// trials.
type pageGroup struct {
	Variables map[string]any `json:"variables"`
	Trials    []int          `json:"trials"`  // indexes into trials
	Counted   []int          `json:"counted"` // those that are not invalid; without any, the curves are of all
	Curves    pageCurves     `json:"curves"`
	// P99Interval is that of the median of the repeats' p99, in ns; nil for a single repeat.
	P99Interval *Interval `json:"p99_interval"`
}

// pageTrial is a trial with everything that the page draws of it.
type pageTrial struct {
	result.Trial
	ReceivedPPS *float64        `json:"received_pps"`
	LossRatio   *float64        `json:"loss_ratio"`
	When        result.When     `json:"when,omitempty"`
	Details     *result.Details `json:"details"` // null if it is missing
	Curves      pageCurves      `json:"curves"`
	// Outliers are [intended µs, latency ns, send lag ns, poll gap ns, receiving CPU].
	Outliers [][5]int64 `json:"outliers"`
	// OutliersAll is the number of outliers in the file.
	OutliersAll int `json:"outliers_all"`
	// Rate is [second, offered, sent, received]; RateStep the seconds a row stands for.
	Rate     [][4]uint64 `json:"rate"`
	RateStep int         `json:"rate_step"`
}

type pageCurves struct {
	Latency *Curve `json:"latency"`
	FromTx  *Curve `json:"from_tx"`
	SendLag *Curve `json:"send_lag"`
	// Undisturbed is the latency without the host's interruptions; of a group, if all its trials know it.
	Undisturbed *Curve `json:"undisturbed"`
}

// newPageData reads a whole result, as far as a page can show it. Missing or damaged files become
// problems on the page, not errors: the rest is still useful. Progress receives the trials that were
// read; it may be nil.
func newPageData(r *result.Result, progress func(done, of int)) pageData {
	totals, answered := TotalsOf(r.Summary.Trials, r.Searches), pageAnswer(r)
	r = firstTrials(r, maxPageTrials)
	shown := r.Shown()
	p := pageData{Schema: PageSchema, Totals: totals, Answer: append([]string{}, answered...), Expected: []Expected{}, Swept: sweptKeys(Groups(shown)), Wakes: wakeText(shown), Undisturbed: undisturbedLines(Groups(shown)), Name: r.Summary.Name, Started: r.Summary.Started,
		Variables: result.VariableNames(shown), Groups: []pageGroup{}, Trials: []pageTrial{},
		Baselines: []pageTrial{}, Curves: []result.Published{}, Traces: []pageTrace{}, Searches: SearchGroups(r.Searches), Skipped: append([]result.Skipped{}, r.Summary.Skipped...), Problems: append([]string{}, r.Problems...)}
	limits := trialLimitsFor(len(shown))
	indexes := map[string]int{}
	for i, t := range shown {
		indexes[t.ID] = i
	}
	p.Trials = make([]pageTrial, len(shown))
	done := 0
	for _, g := range Groups(shown) {
		group := pageGroup{Variables: g.Variables, Counted: []int{}, P99Interval: medianInterval(g, LatencyFigure("p99"))}
		for _, t := range g.Counted() {
			group.Counted = append(group.Counted, indexes[t.ID])
		}
		drawn := g.Drawn()
		var merged result.Histograms // of one group at a time, as each takes a megabyte
		undisturbed := true
		for _, t := range g.Trials {
			at := indexes[t.ID]
			group.Trials = append(group.Trials, at)
			var histograms result.Histograms
			p.Trials[at], histograms = p.readTrial(t, r.TrialFolder(t.ID), limits)
			if slices.ContainsFunc(drawn, func(d result.Trial) bool { return d.ID == t.ID }) {
				mergeInto(&merged, histograms)
				undisturbed = undisturbed && histograms.Undisturbed != nil
			}
			if done++; progress != nil {
				progress(done, len(shown))
			}
		}
		if !undisturbed {
			merged.Undisturbed = nil
		}
		group.Curves = curvesOf(merged)
		p.Groups = append(p.Groups, group)
	}
	for _, b := range r.Baselines {
		read, _ := p.readTrial(b.Trial, r.BaselineFolder(b.ID), trialLimitsFor(maxPageTrials))
		read.When = b.When
		p.Baselines = append(p.Baselines, read)
	}
	p.addFigures(r)
	p.addPackets(r)
	p.addPairs(r)
	p.addDuets(r)
	p.addTraces(r)
	var problems []error
	p.Tails, problems = Tails(context.Background(), r, extreme.Default)
	for _, problem := range problems {
		p.problem(problem)
	}
	for i := range p.Tails {
		p.Tails[i].Ladder = nil // a diagnostic; --format json has it
	}
	var err error
	if p.Host, err = r.Host(); err != nil {
		p.problem(err)
	}
	if p.Plan, err = r.Plan(); err != nil {
		p.problem(err)
	}
	if p.Experiment, err = r.Experiment(); err != nil {
		p.problem(err)
	}
	p.sayLeftOut()
	p.cutProblems()
	return p
}

// firstTrials is the result with as many of its trials as a page has room for, and says so if they
// are not all.
func firstTrials(r *result.Result, most int) *result.Result {
	cut := *r
	if shown := r.Shown(); len(shown) > most {
		kept := map[string]bool{}
		for _, t := range shown[:most] {
			kept[t.ID] = true
		}
		cut.Summary.Trials = slices.DeleteFunc(slices.Clone(r.Summary.Trials), func(t result.Trial) bool { return !kept[t.ID] })
		cut.Problems = append(slices.Clone(r.Problems), fmt.Sprintf("the page has the first %s of %s trials, the most that a browser can show; 'nines report' and 'nines export' have all",
			terminal.Grouped(float64(most)), terminal.Grouped(float64(len(shown)))))
	}
	cut.Baselines, cut.Maxima = r.Baselines[:min(len(r.Baselines), most)], r.Maxima[:min(len(r.Maxima), most)]
	return &cut
}

// trialLimits are how much of a trial is on the page.
type trialLimits struct{ outliers, rates, gaps, details int }

func trialLimitsFor(trials int) trialLimits {
	share := func(of, most int) int { return min(of/max(trials, 1), most) }
	return trialLimits{max(minTrialOutliers, share(maxPageOutliers, maxPageOutliers)), share(maxPageRateRows, maxTrialRateRows), share(maxPageGaps, maxTrialGaps),
		max(minTrialDetails, share(maxPageDetails, maxTrialDetails))}
}

// addFigures chooses the figures, and passes on the published curves for the figure that every page
// has.
func (p *pageData) addFigures(r *result.Result) {
	trials := make([]Evidence, 0, len(p.Trials))
	for _, t := range p.Trials {
		trials = append(trials, Evidence{Trial: t.Trial, Details: t.Details})
	}
	var maxima []Evidence
	for _, m := range r.Maxima {
		found := Evidence{Trial: m}
		// Open has reported a missing file, and the summary has what is drawn.
		if details, err := r.MaximumFolder(m.ID).Details(); err == nil {
			found.Details, _ = cutDetails(&details, minTrialDetails)
		}
		maxima = append(maxima, found)
	}
	p.Figures = slices.DeleteFunc(ChooseFigures(trials, maxima, r.Published), Chosen.tellsNothing)
	for _, published := range r.Published {
		if published.Figure == result.FigureLatency {
			p.Curves = append(p.Curves, published)
		}
	}
}

// problem keeps an error, once: several parts of the page may read one file.
func (p *pageData) problem(err error) {
	if p.told == nil {
		p.told = map[string]bool{}
	}
	if !p.told[err.Error()] {
		p.told[err.Error()] = true
		p.Problems = append(p.Problems, err.Error())
	}
}

// cutProblems keeps as many problems as someone reads.
func (p *pageData) cutProblems() {
	sort.Strings(p.Problems)
	if more := len(p.Problems) - maxPageProblems; more > 0 {
		p.Problems = append(p.Problems[:maxPageProblems], fmt.Sprintf("… and %s more", terminal.Count(more, "problem")))
	}
}

func (p *pageData) readTrial(t result.Trial, folder result.Folder, limits trialLimits) (pageTrial, result.Histograms) {
	read := pageTrial{Trial: t, ReceivedPPS: t.ReceivedPPS(), LossRatio: t.LossRatio(), Outliers: [][5]int64{}, Rate: [][4]uint64{}, RateStep: 1}
	note := func(err error) bool {
		// Open has reported missing files.
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			p.problem(err)
		}
		return err == nil
	}
	histograms, err := folder.Histograms()
	if note(err) {
		read.Curves = curvesOf(histograms)
	}
	if details, err := folder.Details(); note(err) {
		for i := range details.Gaps {
			if len(details.Gaps[i].Worst) > limits.gaps {
				details.Gaps[i].Worst = slices.Clone(details.Gaps[i].Worst[:limits.gaps])
			}
		}
		var cut []string
		read.Details, cut = cutDetails(&details, limits.details)
		p.leftOut(cut)
	}
	var cut []string
	read.Scripts, cut = cutScripts(t.Scripts, limits.details)
	p.leftOut(cut)
	if all, err := folder.Outliers(); note(err) {
		read.OutliersAll = len(all)
		read.Outliers = worst(all, limits.outliers)
	}
	if rates, err := folder.Rates(); note(err) {
		read.Rate, read.RateStep = thinRates(rates, limits.rates)
	}
	return read, histograms
}

// worst keeps the slowest packets, in time order.
func worst(all []result.Outlier, keep int) [][5]int64 {
	sorted := append([]result.Outlier(nil), all...)
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].LatencyNs > sorted[j].LatencyNs })
	sorted = sorted[:min(len(sorted), keep)]
	sort.SliceStable(sorted, func(i, j int) bool { return sorted[i].IntendedNs < sorted[j].IntendedNs })
	rows := make([][5]int64, 0, len(sorted))
	for _, o := range sorted {
		rows = append(rows, [5]int64{o.IntendedNs / 1000, o.LatencyNs, o.SendLagNs, o.PollGapNs, int64(o.RxCPU)})
	}
	return rows
}

// thinRates sums up seconds if there are more than can be shown.
func thinRates(rates []result.Rate, most int) ([][4]uint64, int) {
	step := max((len(rates)+most-1)/most, 1)
	rows := [][4]uint64{}
	for i, r := range rates {
		if i%step == 0 {
			rows = append(rows, [4]uint64{uint64(r.Second), 0, 0, 0})
		}
		row := &rows[len(rows)-1]
		row[1] += r.Offered
		row[2] += r.Sent
		row[3] += r.Received
	}
	return rows, step
}

// mergeInto adds up the histograms of a group's counted trials.
func mergeInto(sum *result.Histograms, trial result.Histograms) {
	for _, pair := range []struct {
		to   **result.Histogram
		from *result.Histogram
	}{{&sum.Latency, trial.Latency}, {&sum.FromTx, trial.FromTx}, {&sum.SendLag, trial.SendLag}, {&sum.Undisturbed, trial.Undisturbed}} {
		if pair.from == nil {
			continue
		}
		if *pair.to == nil {
			*pair.to = result.NewHistogram()
		}
		(*pair.to).Merge(pair.from)
	}
}

func curvesOf(h result.Histograms) pageCurves {
	return pageCurves{Latency: ThinCurve(h.Latency), FromTx: ThinCurve(h.FromTx), SendLag: ThinCurve(h.SendLag), Undisturbed: ThinCurve(h.Undisturbed)}
}
