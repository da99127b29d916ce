package lab

import (
	"context"
	"errors"
	"fmt"
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
}

// errUnfinished is a lab that an Up or an Apply left incomplete.
var errUnfinished = errors.New("the lab was not finished")

// errWhole is a lab that has to be made again as a whole.
var errWhole = errors.New("the lab is rebuilt")

// rebuilds is true if all of the lab has to be made again: with another isolation, or one that others
// have broken, every node would change its control groups, all links and names hang on the fabric, and
// the host's scripts run before and after all else.
func (l *Lab) rebuilds(to *plan.Plan, texts spec.ScriptTexts) (bool, error) {
	if scripts.HostScriptsDiffer(l.Lab, to, texts) || change.IsolationDiffers(l.Plan(), to) || l.FabricDead() {
		return true, nil
	}
	broken, err := check.Isolation(l.Lab)
	return len(broken) > 0, err
}

// Apply changes the lab to another plan: it removes what the plan no longer has, makes what is new,
// and leaves the rest running. If it fails the lab is incomplete: the next Apply rebuilds it, and
// Down removes it.
func (l *Lab) Apply(ctx context.Context, options ApplyOptions) (change.Changes, error) {
	if options.Progress == nil {
		options.Progress = func(string) {}
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
	if errors.Is(err, errUnfinished) || errors.Is(err, errWhole) {
		return l.rebuild(ctx, options)
	}
	return changes, err
}

// rebuild replaces a lab in an unknown state: Up removes what the journal of the earlier start lists.
func (l *Lab) rebuild(ctx context.Context, options ApplyOptions) (change.Changes, error) {
	lab, err := Up(ctx, UpOptions{Plan: options.Plan, Experiment: options.Experiment, Scripts: options.Scripts, Progress: options.Progress})
	if err != nil {
		return change.Changes{}, err
	}
	*l = *lab
	return change.All(l.Plan()), nil
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
	if !l.State().Finished() {
		return change.Changes{}, errUnfinished
	}
	*l = *now
	whole, err := l.rebuilds(options.Plan, options.Scripts)
	if err != nil {
		return change.Changes{}, err
	}
	if whole {
		// Without its settings a lab counts as unfinished.
		return change.Changes{}, errors.Join(errWhole, os.Remove(l.State().Settings()))
	}
	options.Plan = change.KeepNames(l.Plan(), options.Plan)
	changes, err := l.Changes(options.Plan, options.Scripts)
	if err != nil {
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
	if whole, err := l.rebuilds(to, texts); whole || err != nil {
		return change.All(to), err
	}
	to = change.KeepNames(l.Plan(), to)
	faults, err := l.allFaults()
	if err != nil {
		return change.Changes{}, err
	}
	changes := change.Repair(l.Plan(), to, faults, l.Stopped)
	changes.Outdated = l.outdated(to, changes.Begun())
	return changes, nil
}
