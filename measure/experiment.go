package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"nines.dev/nines/measure/method"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
	"nines.dev/nines/testbed"
	"nines.dev/nines/testbed/host"
	"nines.dev/nines/testbed/plan"
)

// Experiment is a sweep that is ready to be measured: every run is planned.
type Experiment struct {
	// Source is the experiment file as it will be kept with the lab.
	Source []byte
	// Explain words the causes of a traced trial's slow packets; nil leaves them unworded.
	Explain   func(*result.Causes, result.Details)
	runs      []run
	steps     []method.Step
	inventory *host.Inventory
	// baselines are the runs' generators alone, one for each different stream.
	baselines []run
}

// run is one combination of the sweep with its plan.
type run struct {
	variables map[string]any
	spec      *spec.Experiment
	// plan is nil where the host lacks a link's hardware, and lacks says which.
	plan  *plan.Plan
	lacks error
	// most is the same at rate 0, for a rate that is a fraction of the maximum.
	most *run
	// share is set when the maximum is known.
	share *result.Share
	// ceilingPPS is what the generator can send, for a search that has no highest rate.
	ceilingPPS float64
	// skip says why the run cannot be measured here while others can.
	skip string
}

// Watcher is told how an experiment goes. Its methods are called one at a time.
type Watcher interface {
	// Doing says what is done between trials: "building the lab (bridge)".
	Doing(what string)
	// Baseline begins a baseline, and Trial a trial, whose traffic lasts so long.
	Baseline(variables map[string]any)
	Trial(variables map[string]any, repeat int, lasts time.Duration)
	// Maximum begins a trial at rate 0, which finds what rates are fractions of.
	Maximum(variables map[string]any, lasts time.Duration)
	// Window hands over a finished window of a soak.
	Window(trial result.Trial)
	// Searching begins a trial of a search, and Found hands over a finished search.
	Searching(state SearchState)
	Found(search result.Search)
	// Skipped tells of a combination that is not measured, and why.
	Skipped(skipped result.Skipped)
	// Progress is called about once a second within a trial.
	Progress(second int, sent, received uint64)
	// Measured hands over a finished trial.
	Measured(trial result.Trial)
	// Died tells of a trial that could not be measured to its end, and why.
	Died(death Death)
}

// Prepare plans every run of the file's sweep on the host. Nothing is built.
func Prepare(file *spec.File, inventory *host.Inventory) (*Experiment, error) {
	runs, err := file.Runs()
	if err != nil {
		return nil, err
	}
	source, err := file.Effective()
	if err != nil {
		return nil, err
	}
	e := &Experiment{Source: source, inventory: inventory}
	seen := make(map[string]bool)
	var lacking []error
	for _, one := range runs {
		if one.Experiment.Traffic == nil {
			return nil, &NoTrafficError{File: file.Name()}
		}
		r := run{variables: one.VariableMap(), spec: one.Experiment}
		p, err := plan.Make(one.Experiment, inventory)
		if errors.As(err, new(*plan.NoHardware)) {
			r.lacks = err // Check says what becomes of it
			e.runs = append(e.runs, r)
			lacking = append(lacking, one.Located(err))
			continue
		}
		if err != nil {
			return nil, one.Located(err)
		}
		r.plan = p
		if r.most, err = mostOf(r, inventory); err != nil {
			return nil, err
		}
		e.runs = append(e.runs, r)

		alone := baselineOf(one.Experiment, p)
		key := identity(alone)
		if seen[key] {
			continue
		}
		seen[key] = true
		if r.plan, err = plan.Make(alone, inventory); err != nil {
			return nil, fmt.Errorf("plan the baseline: %w", err)
		}
		r.spec, r.most, r.variables = alone, nil, ofTraffic(r.variables, one.Experiment, runs)
		e.baselines = append(e.baselines, r)
	}
	if len(e.baselines) == 0 {
		return nil, errors.Join(distinct(lacking)...)
	}
	e.steps = method.Sweep(len(e.runs), runs[0].Experiment.Repeat, runs[0].Experiment.Order)
	return e, nil
}

// ofTraffic keeps the variables that a generator alone can tell apart. The backend
// and its I/O are among them where a case of the sweep sets them.
func ofTraffic(variables map[string]any, exp *spec.Experiment, runs []spec.Run) map[string]any {
	kept := make(map[string]any)
	for path, value := range variables {
		if strings.HasPrefix(path, "traffic.") && path != rateOfMaximum {
			kept[path] = value
		}
	}
	for _, other := range runs {
		if other.Experiment.Traffic.Backend != exp.Traffic.Backend {
			kept["traffic.backend"] = string(exp.Traffic.Backend)
		}
		if other.Experiment.Traffic.IO != exp.Traffic.IO {
			kept["traffic.io"] = string(exp.Traffic.IO)
		}
	}
	return kept
}

// NoTrafficError is a file that describes a lab and nothing to measure.
type NoTrafficError struct{ File string }

func (e *NoTrafficError) Error() string {
	return e.File + ": there is no traffic to measure; add a 'traffic:' section, or bring the lab up with 'nines up'"
}

// ExitCode says that the file is at fault.
func (e *NoTrafficError) ExitCode() int { return 2 }

// Name is the experiment's name.
func (e *Experiment) Name() string { return e.runs[0].spec.Name }

// Published are the measurements of others that the file gives to compare with.
func (e *Experiment) Published() []result.Published {
	var list []result.Published
	for _, p := range e.runs[0].spec.Published {
		published := result.Published{Source: p.Source, Figure: string(p.Figure), Series: p.Series}
		for _, point := range p.Points {
			published.Points = append(published.Points, [2]float64(point))
		}
		list = append(list, published)
	}
	return list
}

// TrialTime is how long a trial's traffic takes on average.
func (e *Experiment) TrialTime() time.Duration {
	var total time.Duration
	for _, r := range e.runs {
		total += lasts(r)
	}
	return total / time.Duration(len(e.runs))
}

// lasts is how long a run's traffic takes.
func lasts(r run) time.Duration {
	t := r.spec.Traffic
	return time.Duration(t.Warmup + t.Duration + t.Drain)
}

// Plans are the plans of the runs that have one, in the order of the sweep.
func (e *Experiment) Plans() []*plan.Plan {
	var plans []*plan.Plan
	for _, r := range e.runs {
		if r.plan != nil {
			plans = append(plans, r.plan)
		}
	}
	return plans
}

// Trials is how many trials there are, baselines apart, and without those of searches,
// which say themselves how many they need.
func (e *Experiment) Trials() int {
	return e.count(func(r run) bool { return r.spec.Method.Plain() })
}

// Searches is how often a search method is run.
func (e *Experiment) Searches() int {
	return e.count(func(r run) bool { return !r.spec.Method.Plain() })
}

func (e *Experiment) count(which func(run) bool) int {
	count := 0
	for _, step := range e.steps {
		if r := e.runs[step.Run]; r.skip == "" && which(r) {
			count++
		}
	}
	return count
}

// Methods are the kinds of its searches, each once.
func (e *Experiment) Methods() []string {
	var kinds []string
	for _, r := range e.runs {
		if m := r.spec.Method; !m.Plain() && !slices.Contains(kinds, string(m.Kind)) {
			kinds = append(kinds, string(m.Kind))
		}
	}
	return kinds
}

// Duration is about how long the traffic of the experiment takes, without the
// building of labs, and without searches, which cannot tell.
func (e *Experiment) Duration() time.Duration {
	var total time.Duration
	found := make(map[string]bool)
	for _, step := range e.steps {
		r := e.runs[step.Run]
		if r.skip != "" {
			continue
		}
		if r.spec.Method.Plain() {
			total += lasts(r)
		}
		if r.most != nil && !found[identity(r.most.spec)] {
			found[identity(r.most.spec)] = true
			total += lasts(*r.most)
		}
	}
	for _, alone := range e.baselines {
		total += 2 * lasts(alone)
	}
	return total
}

// Session is an experiment that has the right to measure on this host.
type Session struct {
	*Experiment
	right *testbed.Measurement
}

// Begin takes the right to measure, which one process has at a time. Nothing is built.
func (e *Experiment) Begin(ctx context.Context) (*Session, error) {
	all := e.Plans()
	for _, alone := range e.baselines {
		all = append(all, alone.plan)
	}
	right, err := testbed.BeginMeasurement(ctx, e.Name(), all)
	if err != nil {
		return nil, err
	}
	return &Session{e, right}, nil
}

// End gives the right back. It may be called more than once.
func (s *Session) End() error {
	if s.right == nil {
		return nil
	}
	right := s.right
	s.right = nil
	return right.End()
}

// Measure runs the experiment and writes each trial as it ends. When ctx ends,
// the running trial ends, what is done is kept, the lab is taken down, and the
// context's error is returned. Where something of a network dies, the other trials are
// measured nevertheless, and a DeathsError is returned. The lab is gone when it returns,
// and the session over.
func (s *Session) Measure(ctx context.Context, writer *result.Writer, watch Watcher) error {
	b := &bench{source: s.Source, folder: writer.Dir(), watch: watch, right: s.right, realTime: s.inventory.RealTimeStop(), online: onlineCPUs(s.inventory), explain: s.Explain}
	dead := &deaths{}
	err := s.measure(ctx, b, writer, dead)
	if errors.Is(err, errGaveUp) {
		err = nil
	}
	// Taking down must not be cut short by the Ctrl-C that led to it.
	return errors.Join(err, dead.error(), b.clear(context.WithoutCancel(ctx)), b.releaseRecording(), s.End())
}

// measure does all that is left of the experiment.
func (e *Experiment) measure(ctx context.Context, b *bench, writer *result.Writer, dead *deaths) error {
	if err := e.measureBaselines(ctx, b, writer, dead, result.Before); err != nil {
		return err
	}
	known := maxima{}
	for _, step := range e.steps {
		r := e.runs[step.Run]
		if isDone(writer, r, step.Repeat) {
			continue
		}
		var skip *result.Skipped
		if err := dead.again(ctx, b, r, step.Repeat, func() (err error) {
			r, skip, err = known.settle(ctx, b, writer, e.runs[step.Run])
			return err
		}); err != nil {
			return err
		}
		if skip != nil {
			if err := writer.Skip(*skip); err != nil {
				return err
			}
			if r.skip == "" { // Check has told of the others
				b.watch.Skipped(*skip)
			}
			continue
		}
		do := dead.once
		if !r.spec.Method.Plain() {
			do = dead.again // with the trials that it has
		}
		if err := do(ctx, b, r, step.Repeat, func() error {
			if err := b.set(ctx, r.plan); err != nil {
				return err
			}
			return e.step(ctx, b, writer, r, step.Repeat)
		}); err != nil {
			return err
		}
	}
	return e.measureBaselines(ctx, b, writer, dead, result.After)
}

// step measures one combination and repeat on what is set: by a trial, or by as many as
// a method wants.
func (e *Experiment) step(ctx context.Context, b *bench, writer *result.Writer, r run, repeat int) error {
	if m := r.spec.Method; !m.Plain() {
		return b.search(ctx, writer, r, repeat, setting{
			Setting:    method.Setting{CeilingPPS: max(r.ceilingPPS, m.MaxRatePPS), FrameBytes: r.spec.Traffic.FrameBytes},
			otherSizes: e.missingSizes(r),
		})
	}
	b.watch.Trial(r.variables, repeat, lasts(r))
	rec, err := b.trial(ctx, r, repeat)
	if err != nil {
		return err
	}
	trial, err := writer.AddTrial(rec)
	if err != nil {
		return err
	}
	b.watch.Measured(trial)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// missingSizes is the deviation of a benchmark that wants all frame sizes of its
// standard, and runs some of them only.
func (e *Experiment) missingSizes(r run) string {
	if r.spec.Method.Kind != spec.MethodRFC2544 {
		return ""
	}
	var missing []string
	for _, size := range method.FrameSizes {
		if !slices.ContainsFunc(e.runs, func(other run) bool {
			return other.spec.Method != nil && other.spec.Method.Kind == r.spec.Method.Kind && other.spec.Traffic.FrameBytes == size
		}) {
			missing = append(missing, fmt.Sprint(size))
		}
	}
	if len(missing) == 0 {
		return ""
	}
	return fmt.Sprintf("no frames of %s bytes, where RFC 2544 section 9.1 wants all sizes, because the experiment file says so", strings.Join(missing, ", "))
}

func (e *Experiment) measureBaselines(ctx context.Context, b *bench, writer *result.Writer, dead *deaths, when result.When) error {
	for _, alone := range e.baselines {
		if hasBaseline(writer, when, alone) {
			continue
		}
		if err := dead.again(ctx, b, alone, 1, func() error { return b.baseline(ctx, writer, when, alone) }); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) baseline(ctx context.Context, writer *result.Writer, when result.When, alone run) error {
	if err := b.set(ctx, alone.plan); err != nil {
		return fmt.Errorf("baseline: %w", err)
	}
	b.watch.Baseline(alone.variables)
	rec, err := b.trial(ctx, alone, 1)
	if err == nil {
		err = b.whole()
	}
	if err != nil {
		return fmt.Errorf("baseline: %w", err)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx) // half a baseline says nothing
	}
	_, err = writer.AddBaseline(when, rec)
	return err
}
