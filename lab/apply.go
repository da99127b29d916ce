package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"nines.dev/nines/lab/scripts"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/lab/change"
	"nines.dev/nines/lab/check"
	"nines.dev/nines/lab/disturb"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/login"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/receive"
	"nines.dev/nines/lab/running"
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
		return change.Changes{}, &state.NotFoundError{Name: l.Name()}
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

func (l *Lab) change(ctx context.Context, h *holding, programs programs, options ApplyOptions, changes change.Changes) error {
	// Without its settings a lab counts as unfinished, should we be killed.
	if err := os.Remove(l.State().Settings()); err != nil {
		return err
	}
	if err := l.leave(ctx, h, programs, options, changes); err != nil {
		return err
	}
	b := &builder{Lab: l, journal: h.journal, programs: programs, progress: options.Progress, before: l.Plan()}
	b.keepTaps(slices.DeleteFunc(slices.Clone(l.Plan().Nodes), func(n plan.Node) bool { return !slices.Contains(changes.FreshNodes, n.Name) }))
	defer b.taps.close()
	if err := h.journal.Undo(ctx, options.Progress, l.toUndo(changes, options.Plan)); err != nil {
		return fmt.Errorf("remove what is gone: %w", err)
	}
	l.Follow(options.Plan)
	if err := l.State().WritePlan(l.Plan()); err != nil {
		return err
	}
	l.Take(h.journal)
	if changes.Tuning {
		if err := b.tuneHost(ctx); err != nil {
			return err
		}
	}
	if changes.Hugepages {
		if err := isolate.ReserveHugepages(b.journal, b.Plan(), state.HugepageLedger); err != nil {
			return err
		}
	}
	if err := b.build(ctx, l.toMake(changes)); err != nil {
		return err
	}
	return b.unmark(slices.Concat(changes.RestartedNodes, changes.FreshNodes))
}

// leave removes endpoints from the programs of links that stay.
func (l *Lab) leave(ctx context.Context, h *holding, programs programs, options ApplyOptions, c change.Changes) error {
	b := &builder{Lab: l, journal: h.journal, programs: programs, progress: options.Progress}
	site := b.newSite()
	for _, planned := range l.Plan().Links {
		var gone []plan.Endpoint
		for _, e := range planned.Endpoints {
			if slices.Contains(c.RemovedEndpoints, e.Name()) {
				gone = append(gone, e)
			}
		}
		if len(gone) == 0 {
			continue
		}
		if err := site.Leave(ctx, planned, gone); err != nil {
			return err
		}
	}
	return nil
}

// toUndo selects the steps to undo.
func (l *Lab) toUndo(c change.Changes, to *plan.Plan) func(journal.Entry) bool {
	nodes := slices.Concat(c.RemovedNodes, c.ReplacedNodes)
	again, links := slices.Concat(c.RestartedNodes, c.FreshNodes), slices.Concat(c.RemovedLinks, c.ReplacedLinks)
	return func(e journal.Entry) bool {
		switch {
		case e.Kind == isolate.KindHugepages:
			return c.Hugepages
		case disturb.IsStep(e):
			return c.Disturbances
		case ofTuning(e, to.Tuning == ""):
			return c.Tuning
		case e.Node != "" && slices.Contains(nodes, e.Node):
			return true
		case slices.Contains(again, e.Node) && node.OfPayload(e, e.Node):
			return true
		case e.Link != "" && slices.Contains(links, e.Link):
			return true
		case slices.ContainsFunc(c.Received, func(node string) bool { return receive.IsStep(e, node) }):
			return true
		case login.IsServer(e, e.Node):
			return slices.Contains(c.Logins, e.Node)
		case e.Kind == process.Kind && e.Name == running.EngineStep:
			return slices.Contains(c.RestartedApps, e.Node)
		case e.Kind == link.KindUplinkAddress:
			return slices.Contains(c.RemovedEndpoints, e.Node+":"+spec.ManagementInterface)
		case e.Kind == link.KindLink && e.Node != "":
			return slices.ContainsFunc(l.endpointsOf(e), func(name string) bool {
				return slices.Contains(c.RemovedEndpoints, name)
			})
		}
		return false
	}
}

// endpointsOf names the endpoints that a device's step made.
func (l *Lab) endpointsOf(e journal.Entry) []string {
	var names []string
	if old := l.Plan().Link(e.Link); old != nil {
		for _, endpoint := range old.Endpoints {
			if endpoint.Node == e.Node && (endpoint.FabricDevice == e.Name || endpoint.Interface == e.Name) {
				names = append(names, endpoint.Name())
			}
		}
	}
	return names
}

// toMake returns the work that the changes require.
func (l *Lab) toMake(c change.Changes) work {
	w := work{interfaces: map[string]bool{}, adjusted: map[string]bool{}, received: map[string]bool{}, again: map[string]bool{}, fresh: map[string]bool{}, logins: map[string]bool{}}
	for _, name := range c.Logins {
		w.logins[name] = true
	}
	for _, name := range slices.Concat(c.AddedNodes, c.ReplacedNodes, c.FreshNodes, c.RestartedNodes, c.Received) {
		w.received[name] = true
	}
	for _, name := range c.RestartedNodes {
		w.again[name], w.fresh[name] = true, l.Running(name).Fresh // as it was to be when that was cut off
	}
	for _, name := range c.FreshNodes {
		w.again[name], w.fresh[name] = true, true
	}
	for _, n := range l.Plan().Nodes {
		if slices.Contains(c.AddedNodes, n.Name) || slices.Contains(c.ReplacedNodes, n.Name) || w.again[n.Name] {
			w.nodes = append(w.nodes, n)
		}
		if slices.Contains(c.RestartedApps, n.Name) {
			w.apps = append(w.apps, n)
			w.adjusted[n.Name] = true
		}
	}
	for _, name := range c.Adjusted {
		w.adjusted[name] = true
	}
	for _, name := range c.Reconfigured {
		w.interfaces[name] = true
	}
	for _, planned := range l.Plan().Links {
		todo := linkWork{Link: planned}
		whole := slices.Contains(c.AddedLinks, planned.Name) || slices.Contains(c.ReplacedLinks, planned.Name)
		for _, e := range planned.Endpoints {
			if whole || slices.Contains(c.AddedEndpoints, e.Name()) {
				todo.endpoints = append(todo.endpoints, e)
				w.interfaces[e.Name()] = true
			}
		}
		if len(todo.endpoints) > 0 {
			w.links = append(w.links, todo)
		}
	}
	return w
}
