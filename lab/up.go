package lab

import (
	"context"
	"errors"

	"nines.dev/nines/journal"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// UpOptions says what to bring up.
type UpOptions struct {
	Plan *plan.Plan
	// Experiment is the file that the plan comes from; it is kept with the lab.
	Experiment []byte
	// Scripts are the texts of the plan's scripts.
	Scripts spec.ScriptTexts
	// Measurement is set for a lab that is brought up to be measured. Such a lab is locked until
	// its Down, and becomes an orphan if this process dies before.
	Measurement *Measurement
	// Progress receives a few words on each step that takes long; may be nil.
	Progress func(string)
	// Note receives what is left of a lab that is removed, and why: of an earlier start now, of this
	// one at its Down if that is Lab's. If it is nil, Progress receives it.
	Note func(string)
}

// Up makes a lab. If it fails, or ctx ends, everything that was made is removed again.
func Up(ctx context.Context, options UpOptions) (*Lab, error) {
	if options.Progress == nil {
		options.Progress = func(string) {}
	}
	if options.Note == nil {
		options.Note = options.Progress
	}
	ctx = journal.WithProgress(ctx, options.Progress)
	programs, err := checkNeeds(options.Plan)
	if err != nil {
		return nil, err
	}
	if err := isolate.CheckHugepages(options.Plan); err != nil {
		return nil, err
	}
	held, err := reserve(ctx, options)
	if err != nil {
		return nil, state.Explain(err)
	}
	b := &builder{
		Lab:      &Lab{Lab: running.New(held.state, options.Plan), restarts: &restartLog{}},
		journal:  held.journal,
		programs: programs,
		progress: options.Progress,
		measured: options.Measurement != nil,
	}
	if err := b.buildAll(ctx, options); err != nil {
		if !errors.As(err, new(*interruptedError)) {
			err = interruptedIn(ctx, "", err)
		}
		options.Progress("removing what was made")
		return nil, held.takeBack(ctx, b.Name(), err)
	}
	if options.Measurement != nil {
		held.note = options.Note
		b.Lab.held = held
		if err := b.Lab.takeRequests(options.Progress); err != nil {
			return nil, errors.Join(err, b.Lab.Down(context.WithoutCancel(ctx)))
		}
		if err := b.Lab.beginWatching(ctx, options.Progress); err != nil {
			return nil, err
		}
		return b.Lab, nil
	}
	return b.Lab, held.free()
}
