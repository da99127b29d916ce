package measure

import (
	"context"
	"errors"
	"time"

	"nines.dev/nines/lab"
	"nines.dev/nines/measure/method"
	"nines.dev/nines/result"
)

// Session is an experiment that holds the measurement lock of this host.
type Session struct {
	*Experiment
	lock *lab.Measurement
}

// Begin takes the measurement lock, which one process holds at a time. Nothing is built.
func (e *Experiment) Begin(ctx context.Context) (*Session, error) {
	all := e.Plans()
	for _, alone := range e.baselines {
		all = append(all, alone.plan)
	}
	lock, err := lab.BeginMeasurement(ctx, e.Name(), all)
	if err != nil {
		return nil, err
	}
	return &Session{e, lock}, nil
}

// End releases the lock. It may be called more than once.
func (s *Session) End() error {
	if s.lock == nil {
		return nil
	}
	lock := s.lock
	s.lock = nil
	return lock.End()
}

// Measure runs the experiment and writes each trial when it ends. When ctx ends, it ends the
// running trial, keeps what is done, takes the lab down, and returns the context's error. If a part
// of a network dies, it still measures the other trials, and returns a DeathsError; if nothing passes a
// network, a RefusedError. Afterwards the lab is gone, and the session over.
func (s *Session) Measure(ctx context.Context, writer *result.Writer, watch Watcher) error {
	b := &bench{source: s.Source, texts: s.Scripts, writer: writer, folder: writer.Dir(), watch: watch, lock: s.lock, inventory: s.inventory, realTime: s.inventory.RealTimeStop(), online: onlineCPUs(s.inventory), explain: s.Explain}
	dead := &deaths{}
	err := s.measure(ctx, b, writer, dead)
	if errors.Is(err, errGaveUp) {
		err = nil
	}
	// The Ctrl-C that led here must not interrupt the clean-up.
	err = errors.Join(err, b.clear(context.WithoutCancel(ctx)), b.releaseRecording(), s.End())
	err = errors.Join(err, dead.error(err == nil))
	return errors.Join(err, b.refusedError())
}

// measure runs the rest of the experiment.
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
			if r.skip == "" { // Check has reported the others
				b.watch.Skipped(*skip)
			}
			continue
		}
		do := dead.once
		if !r.spec.Method.Plain() {
			do = dead.again // with the trials that it has
		}
		if err := do(ctx, b, r, step.Repeat, func() error {
			if err := b.set(ctx, r); err != nil {
				return err
			}
			return b.skipRefused(writer, r, e.step(ctx, b, writer, r, step.Repeat))
		}); err != nil {
			return err
		}
	}
	return e.measureBaselines(ctx, b, writer, dead, result.After)
}

// step measures one combination and repeat on the prepared bench: one trial, or as many as the
// method needs.
func (e *Experiment) step(ctx context.Context, b *bench, writer *result.Writer, r run, repeat int) error {
	if m := r.spec.Method; !m.Plain() {
		return b.search(ctx, writer, r, repeat, setting{
			Setting:    method.Setting{CeilingPPS: max(r.ceilingPPS, m.MaxRatePPS), FrameBytes: r.stream.FrameBytes},
			otherSizes: e.missingSizes(r),
		})
	}
	b.watch.Trial(r.variables, repeat, r.stream.Lasts())
	measure := b.trafficAndScripts
	if r.plan.Traffic == nil {
		measure = b.scriptTrial
	}
	rec, err := measure(ctx, r, repeat)
	if err != nil {
		return err
	}
	trial, err := writer.AddTrial(rec)
	if err != nil {
		return err
	}
	if trial.Refused {
		b.refuses(trial)
	}
	b.watch.Measured(trial)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// Watcher follows an experiment. Its methods are called one at a time, but for Doing: what watches the
// lab's nodes calls it, too, at any time.
type Watcher interface {
	// Doing names the work between trials: "building the lab (bridge)".
	Doing(what string)
	// Noted tells what is left of a lab that was taken down, and why.
	Noted(note string)
	// Baseline begins a baseline, and Trial a trial, with the duration of its traffic.
	Baseline(variables map[string]any)
	Trial(variables map[string]any, repeat int, lasts time.Duration)
	// Maximum begins a trial at rate 0, which finds the maximum for rate fractions.
	Maximum(variables map[string]any, lasts time.Duration)
	// Window delivers a finished window of a soak.
	Window(trial result.Trial)
	// Searching begins a trial of a search, and Found delivers a finished search.
	Searching(state SearchState)
	Found(search result.Search)
	// Skipped reports a combination that is not measured, and why.
	Skipped(skipped result.Skipped)
	// Progress is called about once a second within a trial.
	Progress(now Progress)
	// Looked delivers what a duet that goes on has decided so far, of what was asked; any goroutine calls it.
	Looked(so result.Duet)
	// Measured delivers a finished trial.
	Measured(trial result.Trial)
	// Died reports a trial that could not be finished, and why.
	Died(death Death)
}
