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
	fresh := change.Set(changes.FreshNodes)
	b.keepTaps(slices.DeleteFunc(slices.Clone(l.Plan().Nodes), func(n plan.Node) bool { return !fresh[n.Name] }))
	defer b.taps.close()
	undone := toUndo(changes, l.Plan(), options.Plan)
	ending := map[string]bool{}
	for _, e := range h.journal.Entries() {
		if name := service.Of(e); name != "" && undone(e) {
			ending[name] = true
		}
	}
	service.Stop(ctx, h.journal, func(name string) bool { return ending[name] })
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
	removed := change.Set(c.RemovedEndpoints)
	for _, planned := range l.Plan().Links {
		var gone []plan.Endpoint
		for _, e := range planned.Endpoints {
			if removed[e.Name()] {
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
	nodes, again := change.Set(c.RemovedNodes, c.ReplacedNodes), change.Set(c.RestartedNodes, c.FreshNodes)
	links, endpoints := change.Set(c.RemovedLinks, c.ReplacedLinks), change.Set(c.RemovedEndpoints)
	received, logins := change.Set(c.Received), change.Set(c.Logins)
	apps, services := change.Set(c.RestartedApps), change.Set(c.RestartedServices)
	index := from.Index()
	return func(e journal.Entry) bool {
		switch {
		case e.Kind == isolate.KindHugepages:
			return c.Hugepages
		case disturb.IsStep(e):
			return c.Disturbances
		case ofTuning(e, to.Tuning == ""):
			return c.Tuning
		case e.Node != "" && nodes[e.Node]:
			return true
		case again[e.Node] && node.OfPayload(e, e.Node):
			return true
		case e.Link != "" && links[e.Link]:
			return true
		case received[e.Node] && receive.IsStep(e, e.Node):
			return true
		case login.IsServer(e, e.Node):
			return logins[e.Node]
		case service.Of(e) != "" && services[service.Of(e)]:
			return true
		case e.Kind == process.Kind && e.Name == running.EngineStep:
			return apps[e.Node]
		case e.Kind == link.KindUplinkAddress:
			return endpoints[e.Node+":"+spec.ManagementInterface]
		case e.Kind == link.KindLink && e.Node != "":
			return slices.ContainsFunc(endpointsOf(index, e), func(name string) bool { return endpoints[name] })
		}
		return false
	}
}

// endpointsOf names the endpoints that a device's step made.
func endpointsOf(p *plan.Index, e journal.Entry) []string {
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
	begun, apps := change.Set(c.AddedNodes, c.ReplacedNodes), change.Set(c.RestartedApps)
	for _, n := range l.Plan().Nodes {
		if begun[n.Name] || w.again[n.Name] {
			w.nodes = append(w.nodes, n)
		}
		if apps[n.Name] {
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
	w.moved = change.Set(c.Moved)
	for _, name := range c.Reconfigured {
		w.interfaces[name] = true
	}
	links, endpoints := change.Set(c.AddedLinks, c.ReplacedLinks), change.Set(c.AddedEndpoints)
	for _, planned := range l.Plan().Links {
		todo := linkWork{Link: planned}
		whole := links[planned.Name]
		for _, e := range planned.Endpoints {
			if whole || endpoints[e.Name()] {
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
