package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"nines.dev/nines/journal"
	"nines.dev/nines/lab/change"
	"nines.dev/nines/lab/check"
	"nines.dev/nines/lab/scripts"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// ApplyOptions says what to change a lab into.
type ApplyOptions struct {
	Plan       *plan.Plan
	Experiment []byte
	// Scripts are the texts of the plan's scripts.
	Scripts  spec.ScriptTexts
	Progress func(string)
	// Announce is told of the changes before any is made; may be nil.
	Announce func(change.Changes) error
}

// errWhole is a lab that has to be made again as a whole.
var errWhole = errors.New("the lab is rebuilt")

// rebuilds says why all of the lab has to be made again, or is empty: with another isolation, or one that others
// have broken, every node would change its control groups, all links and names hang on the fabric, and
// the host's scripts run before and after all else.
func (l *Lab) rebuilds(to *plan.Plan, texts spec.ScriptTexts) (why string, err error) {
	switch {
	case !l.State().Finished():
		return "an up or apply before did not finish it", nil
	case scripts.HostScriptsDiffer(l.Lab, to, texts):
		return "the host's scripts are others", nil
	case change.IsolationDiffers(l.Plan(), to):
		return "isolation, or the CPUs that are isolated, are others", nil
	case l.FabricDead():
		return "the fabric is dead", nil
	}
	broken, err := check.Isolation(l.Lab)
	if len(broken) > 0 {
		return "others have changed its isolation", err
	}
	return "", err
}

// Apply changes the lab to another plan: it removes what the plan no longer has, makes what is new,
// and leaves the rest running. If it fails the lab is incomplete: the next Apply rebuilds it, and
// Down removes it.
func (l *Lab) Apply(ctx context.Context, options ApplyOptions) (change.Changes, error) {
	if options.Progress == nil {
		options.Progress = func(string) {}
	}
	if options.Announce == nil {
		options.Announce = func(change.Changes) error { return nil }
	}
	ctx = journal.WithProgress(ctx, options.Progress)
	to := options.Plan
	if to.Name != l.Name() {
		return change.Changes{}, fmt.Errorf("the file describes lab %q, not %q", to.Name, l.Name())
	}
	if to.Prefix != l.Plan().Prefix {
		return change.Changes{}, fmt.Errorf("lab %q has the prefix %q, the file %q; nines down and up change it", l.Name(), l.Plan().Prefix, to.Prefix)
	}
	programs, err := checkNeeds(to)
	if err != nil {
		return change.Changes{}, err
	}
	h, err := hold(l.Name())
	if err != nil {
		return change.Changes{}, state.Explain(err)
	}
	changes, err := l.apply(ctx, h, programs, options)
	err = errors.Join(err, h.free())
	if errors.Is(err, errWhole) {
		return l.rebuild(ctx, options, changes)
	}
	return changes, err
}

// rebuild replaces a lab in an unknown state: Up removes what the journal of the earlier start lists.
func (l *Lab) rebuild(ctx context.Context, options ApplyOptions, changes change.Changes) (change.Changes, error) {
	if err := options.Announce(changes); err != nil {
		return change.Changes{}, err
	}
	lab, err := Up(ctx, UpOptions{Plan: options.Plan, Experiment: options.Experiment, Scripts: options.Scripts, Progress: options.Progress})
	if err != nil {
		return change.Changes{}, err
	}
	*l = *lab
	return changes, nil
}

func (l *Lab) apply(ctx context.Context, h *holding, programs programs, options ApplyOptions) (change.Changes, error) {
	if h.journal == nil {
		return change.Changes{}, state.NotFound(l.Name())
	}
	// The state of the lab under the lock, which may differ from when it was opened.
	now, err := Open(l.Name())
	if err != nil {
		return change.Changes{}, err
	}
	if !plan.Same(now.Plan(), l.Plan()) {
		return change.Changes{}, fmt.Errorf("another call has changed lab %q meanwhile; call nines apply again", l.Name())
	}
	*l = *now
	options.Plan = change.KeepNames(l.Plan(), options.Plan)
	changes, err := l.Changes(options.Plan, options.Scripts)
	if err != nil {
		return change.Changes{}, err
	}
	if changes.Whole != "" {
		if err := os.Remove(l.State().Settings()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return changes, err
		}
		return changes, errWhole // without its settings a lab counts as unfinished
	}
	if err := options.Announce(changes); err != nil {
		return change.Changes{}, err
	}
	if !changes.Empty() {
		if err := l.change(ctx, h, programs, options, changes); err != nil {
			return changes, fmt.Errorf("%w; the lab is now incomplete: nines apply rebuilds it, nines down %s removes it", state.Explain(err), l.Name())
		}
	}
	return changes, state.WriteFile(l.State().Experiment(), options.Experiment)
}

// Changes says what Apply would change: what differs of the plans, and what has died or is not as planned,
// which is rebuilt. The texts are those of the other plan's scripts.
func (l *Lab) Changes(to *plan.Plan, texts spec.ScriptTexts) (change.Changes, error) {
	if why, err := l.rebuilds(to, texts); why != "" || err != nil {
		return allAgain(l.Plan(), to, why), err
	}
	to = change.KeepNames(l.Plan(), to)
	faults, err := l.allFaults()
	if err != nil {
		return change.Changes{}, err
	}
	changes := change.Repair(l.Plan(), to, faults, l.Stopped)
	changes.Outdated = l.outdated(to, changes.Begun())
	changes.Differences = change.Differences(l.Plan(), to)
	return changes, nil
}

// allAgain are the changes of a lab that is rebuilt.
func allAgain(from, to *plan.Plan, why string) change.Changes {
	all := change.All(to)
	all.Whole, all.Differences = why, change.Differences(from, to)
	return all
}
