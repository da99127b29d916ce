package measure

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"nines.dev/nines/measure/method"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// The properties of a search's trials that its method does not set.
const (
	// warmupShare limits the warm-up of a search's trial to a fraction of its length: there may be
	// hundreds of trials, and the engines are warm from the one before.
	warmupShare = 10
	// searchOutliers is the number of outliers kept for trials not run for their latency.
	searchOutliers = 100
	// ceilingTime and ceilingQuick are the duration of the trial at rate 0 that finds what the
	// generator can send.
	ceilingTime  = spec.Duration(5 * time.Second)
	ceilingQuick = spec.Duration(time.Second)
)

// SearchState is what a search knows when one of its trials begins.
type SearchState struct {
	Variables map[string]any
	Repeat    int
	Method    string
	// Trials is how many are done, and Kept how many of them come from an earlier run.
	Trials, Kept int
	// Purpose, RatePPS and Lasts describe the trial that begins.
	Purpose string
	RatePPS float64
	Lasts   time.Duration
	// LosslessPPS is the highest rate so far without loss, and LossyPPS the lowest rate above it
	// with loss; 0 if there is none.
	LosslessPPS, LossyPPS float64
}

// saw adds a trial to what is known.
func (s *SearchState) saw(load method.Load, o method.Outcome) {
	s.Trials++
	switch {
	case o.Invalid != "" && o.Unsent == 0, load.Packets > 0, strings.HasPrefix(load.Purpose, result.WindowPurpose):
		return // says nothing about the rate
	case o.Lost() == 0:
		s.LosslessPPS = max(s.LosslessPPS, load.RatePPS)
		if s.LossyPPS <= s.LosslessPPS {
			s.LossyPPS = 0
		}
	case load.RatePPS > s.LosslessPPS && (s.LossyPPS == 0 || load.RatePPS < s.LossyPPS):
		s.LossyPPS = load.RatePPS
	}
}

// searching is a running search on the bench: one combination, one repeat.
type searching struct {
	bench  *bench
	writer *result.Writer
	run    run
	repeat int
	state  SearchState
	// kept are this search's trials from an earlier run.
	kept keptTrials
	// warm is true once a trial has been run.
	warm bool
}

// setting is what a search must know about the network.
type setting struct {
	method.Setting
	// otherSizes is the deviation of an experiment that lacks some frame sizes of the method's
	// standard; empty if it has all.
	otherSizes string
}

// search runs a method for one combination and repeat, and writes what it found.
func (b *bench) search(ctx context.Context, writer *result.Writer, r run, repeat int, at setting) error {
	s := newSearching(b, writer, r, repeat)
	find, err := s.method(at)
	if err != nil {
		return err
	}
	found, err := find(ctx, s.trial)
	if ctx.Err() != nil {
		return context.Cause(ctx) // its trials are kept; the rest can be run later
	}
	if err != nil {
		return err
	}
	found.Variables, found.Repeat = r.variables, repeat
	if at.otherSizes != "" {
		found.Deviations = append(found.Deviations, at.otherSizes)
		found.Conformant = false
	}
	if found, err = writer.AddSearch(found); err != nil {
		return err
	}
	b.watch.Found(found)
	return nil
}

func newSearching(b *bench, writer *result.Writer, r run, repeat int) *searching {
	kept := keptOf(writer, r, repeat)
	return &searching{bench: b, writer: writer, run: r, repeat: repeat, kept: kept, state: SearchState{
		Variables: r.variables, Repeat: repeat, Method: string(r.spec.Method.Kind), Kept: len(kept.trials),
	}}
}

// method returns the search that the experiment asks for. A soak is a search whose trials are its
// windows, at the traffic's own rate.
func (s *searching) method(at setting) (method.Search, error) {
	m := *s.run.spec.Method
	if m.Search() {
		return method.New(m, at.Setting)
	}
	soak, err := method.SoakOf(m, s.run.stream.PacketsPerSecond())
	if err != nil {
		return nil, err
	}
	begun, err := s.interruptions()
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, trial method.Trial) (result.Search, error) {
		return soak.Run(ctx, trial, method.SoakState{Interruptions: begun}, func(method.SoakState) error { return nil })
	}, nil
}

// interruptions is how often the run was resumed since the first kept trial.
func (s *searching) interruptions() (int, error) {
	if len(s.kept.trials) == 0 {
		return 0, nil
	}
	first, err := s.writer.TrialFolder(s.kept.trials[0].ID).Details()
	if err != nil {
		return 0, fmt.Errorf("continue with what was measured: %w", err)
	}
	count := 0
	for _, when := range s.writer.Summary().Resumed {
		if when.UnixNano() > first.StartedUnixNs {
			count++
		}
	}
	return count, nil
}

// trial runs one trial on the running engines, and adds it to the result. It is the search's
// method.Trial.
func (s *searching) trial(ctx context.Context, load method.Load) (method.Outcome, error) {
	r := s.run.at(load)
	isWindow := strings.HasPrefix(load.Purpose, result.WindowPurpose)
	if isWindow && s.warm && s.bench.generator != nil {
		r = r.warm()
	}
	s.state.Purpose, s.state.RatePPS, s.state.Lasts = load.Purpose, load.RatePPS, r.stream.Lasts()
	if outcome, ok, err := s.kept.next(s.writer, load); ok || err != nil {
		if err == nil {
			s.state.saw(load, outcome)
		}
		return outcome, err
	}
	s.bench.watch.Searching(s.state)
	began := time.Now()
	if err := rest(ctx, load.Settle); err != nil {
		return method.Outcome{}, err
	}
	if err := s.bench.set(ctx, r); err != nil { // already done, except after a fault
		return method.Outcome{}, err
	}
	rec, err := s.bench.trial(ctx, r, s.repeat)
	if err != nil {
		return method.Outcome{}, err
	}
	if ctx.Err() != nil {
		return method.Outcome{}, context.Cause(ctx) // half a trial says nothing about a rate
	}
	rec.Trial.Search, rec.Trial.Purpose = s.writer.SearchID(), load.Purpose
	rec.Details.ElapsedNs = int64(time.Since(began))
	trial, err := s.writer.AddTrial(rec)
	if err != nil {
		return method.Outcome{}, err
	}
	if trial.Refused {
		return method.Outcome{}, &refusal{trial}
	}
	s.warm = true
	if isWindow {
		s.bench.watch.Window(trial)
	}
	outcome := outcomeOf(trial, rec.Details, rec.Histograms.Latency)
	s.state.saw(load, outcome)
	return outcome, nil
}

// outcomeOf converts a trial to a method's outcome.
func outcomeOf(t result.Trial, d result.Details, latency *result.Histogram) method.Outcome {
	o := method.Outcome{
		ID: t.ID, Intended: d.IntendedPackets, Received: t.RxPackets,
		Elapsed: time.Duration(d.ElapsedNs), Latency: latency,
	}
	if t.SendLag.P99 != nil {
		o.SendLagP99 = time.Duration(*t.SendLag.P99)
	}
	if t.SendLag.Max != nil {
		o.SendLagMax = time.Duration(*t.SendLag.Max)
	}
	if d.Clocks != nil {
		o.ClockError = time.Duration(d.Clocks.ErrorNs)
	}
	if d.IntendedPackets > t.TxPackets {
		o.Unsent = d.IntendedPackets - t.TxPackets
	}
	if t.Verdict == result.Invalid {
		o.Invalid = t.Reasons[0] // those that make it invalid come first
	}
	return o
}

// rest waits, unless ctx ends.
func rest(ctx context.Context, pause time.Duration) error {
	if pause <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// keptTrials are trials from an earlier run of the same search, in order. A method is pure: with
// the same outcomes it asks for the same loads, up to the interruption.
type keptTrials struct{ trials []result.Trial }

// keptOf finds the trials of the search that the writer will write next, if they belong to this
// combination and repeat.
func keptOf(writer *result.Writer, r run, repeat int) keptTrials {
	var k keptTrials
	for _, t := range writer.Summary().Trials {
		if t.Search == writer.SearchID() && t.Repeat == repeat && result.SameVariables(t.Variables, r.variables) {
			k.trials = append(k.trials, t)
		}
	}
	return k
}

// next returns the outcome of the next kept trial, if it had this load. Otherwise the search has
// diverged, and all later trials are run again.
func (k *keptTrials) next(writer *result.Writer, load method.Load) (method.Outcome, bool, error) {
	if len(k.trials) == 0 {
		return method.Outcome{}, false, nil
	}
	t := k.trials[0]
	folder := writer.TrialFolder(t.ID)
	details, err := folder.Details()
	if err != nil {
		return method.Outcome{}, false, fmt.Errorf("continue with what was measured: %w", err)
	}
	same := time.Duration(details.DurationNs) == load.Duration
	if load.Packets > 0 {
		same = details.IntendedPackets == load.Packets
	}
	if t.Purpose != load.Purpose || details.IntendedPPS != load.RatePPS || !same {
		k.trials = nil
		return method.Outcome{}, false, nil
	}
	histograms, err := folder.Histograms()
	if err != nil {
		return method.Outcome{}, false, fmt.Errorf("continue with what was measured: %w", err)
	}
	k.trials = k.trials[1:]
	return outcomeOf(t, details, histograms.Latency), true, nil
}

// missingSizes is the deviation of a benchmark that runs only some of the frame sizes of its
// standard.
func (e *Experiment) missingSizes(r run) string {
	asked := r.spec.Method.Kind.Descriptor()
	var missing []string
	for _, size := range asked.FrameSizes {
		if !slices.ContainsFunc(e.runs, func(other run) bool {
			return other.spec.Method != nil && other.spec.Method.Kind == asked.Kind && other.spec.Traffic != nil && other.spec.Traffic.FrameBytes == size
		}) {
			missing = append(missing, fmt.Sprint(size))
		}
	}
	if len(missing) == 0 {
		return ""
	}
	return fmt.Sprintf("no frames of %s bytes, where %s requires all sizes, because the experiment file says so", strings.Join(missing, ", "), asked.SizesBy)
}
