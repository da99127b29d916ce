package lab

import (
	"context"
	"fmt"
	"os"
	"slices"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/lab/change"
	"nines.dev/nines/lab/disturb"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/login"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/receive"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/lab/service"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// change makes the changes of Apply.
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
	undone := toUndo(changes, l.Plan(), options.Plan)
	service.Stop(ctx, h.journal, func(name string) bool {
		return slices.ContainsFunc(h.journal.Entries(), func(e journal.Entry) bool { return service.Of(e) == name && undone(e) })
	})
	if err := h.journal.Undo(ctx, options.Progress, undone); err != nil {
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

// toUndo selects the steps to undo. It is pure.
func toUndo(c change.Changes, from, to *plan.Plan) func(journal.Entry) bool {
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
		case service.Of(e) != "" && slices.Contains(c.RestartedServices, service.Of(e)):
			return true
		case e.Kind == process.Kind && e.Name == running.EngineStep:
			return slices.Contains(c.RestartedApps, e.Node)
		case e.Kind == link.KindUplinkAddress:
			return slices.Contains(c.RemovedEndpoints, e.Node+":"+spec.ManagementInterface)
		case e.Kind == link.KindLink && e.Node != "":
			return slices.ContainsFunc(endpointsOf(from, e), func(name string) bool {
				return slices.Contains(c.RemovedEndpoints, name)
			})
		}
		return false
	}
}

// endpointsOf names the endpoints that a device's step made.
func endpointsOf(p *plan.Plan, e journal.Entry) []string {
	var names []string
	if old := p.Link(e.Link); old != nil {
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
		if slices.ContainsFunc(n.Services, func(s spec.Service) bool { return slices.Contains(c.RestartedServices, n.Name+":"+s.Name) }) {
			w.services = append(w.services, n)
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
