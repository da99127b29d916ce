package lab

import (
	"context"
	"errors"
	"slices"
	"strings"

	"nines.dev/nines/lab/check"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// newSite returns the Site for making links between the running nodes.
func (b *builder) newSite() *link.Site {
	site := &link.Site{
		Journal: b.journal, Plan: b.Plan(), Fabric: link.HolderOf(b.Fabric()), FabricNode: b.Fabric(), Nodes: map[string]link.Holder{},
		StateDir: b.State().Dir, InitPath: b.programs.init, EnginePath: b.programs.engine, Fresh: &b.fresh,
	}
	if b.before != nil {
		site.Before = b.before.Index()
	}
	for _, r := range b.AllRunning() {
		site.Nodes[r.Name] = link.HolderOf(r)
	}
	return site
}

func (b *builder) makeLinks(ctx context.Context, w work) error {
	b.site = b.newSite()
	return node.Each(ctx, len(w.links), func(i int) error {
		return b.site.Make(ctx, w.links[i].Link, w.links[i].endpoints)
	})
}

// configure sets up the interfaces of new nodes and those that the work names.
func (b *builder) configure(ctx context.Context, w work) error {
	before := (&plan.Plan{}).Index()
	if b.before != nil {
		before = b.before.Index()
	}
	isNew := map[string]bool{}
	for _, n := range w.nodes {
		isNew[n.Name] = true
	}
	return node.Each(ctx, len(b.Plan().Nodes), func(i int) error {
		n := b.Plan().Nodes[i]
		var todo []plan.Interface
		for _, iface := range n.Interfaces {
			if !n.Apart() && iface.InKernel() && (isNew[n.Name] || w.interfaces[n.Name+":"+iface.Name]) {
				todo = append(todo, iface)
			}
		}
		// A new guest is set up from inside, and a pod by its cluster.
		if n.Apart() || len(todo) == 0 && !isNew[n.Name] && !w.adjusted[n.Name] {
			return nil
		}
		if err := b.site.CheckSources(n, todo); err != nil {
			return err
		}
		old := before.Node(n.Name)
		if err := b.site.Own(n, ownBefore(old)); err != nil {
			return err
		}
		if err := b.site.Configure(ctx, n, todo, goneRoutes(old, n)); err != nil {
			return err
		}
		if w.adjusted[n.Name] && check.Settled(n) {
			if err := errors.Join(b.site.MendRouting(n), check.MendSysctls(b.Lab.Lab, n)); err != nil {
				return err
			}
		}
		return b.sysctls(n)
	})
}

// awaitLinks waits until the links of the work are ready: at both ends and in the fabric. So are
// interfaces that were set up again.
func (b *builder) awaitLinks(ctx context.Context, w work) error {
	touched := map[string]bool{}
	var links []plan.Link
	for _, l := range w.links {
		links = append(links, l.Link)
		for _, e := range l.endpoints {
			touched[e.Node] = true
		}
	}
	for name := range w.interfaces {
		nodeName, _, _ := strings.Cut(name, ":")
		touched[nodeName] = true
	}
	if slices.ContainsFunc(links, func(l plan.Link) bool { return l.Management }) {
		if err := link.AwaitHostEnd(ctx, b.Plan().Management); err != nil {
			return err
		}
	}
	var holders []link.Holder
	for _, n := range b.Plan().Nodes {
		if touched[n.Name] {
			holders = append(holders, link.HolderOf(b.Running(n.Name)))
		}
	}
	for _, l := range w.links {
		for _, h := range b.site.FabricsOf(l.Link) {
			if !slices.Contains(holders, h) {
				holders = append(holders, h)
			}
		}
	}
	if err := b.site.SettleFunctions(ctx, links); err != nil {
		return err
	}
	return node.Each(ctx, len(holders), func(i int) error { return link.AwaitReady(ctx, holders[i]) })
}

// ownBefore are the addresses on the loopback of a node that it had before.
func ownBefore(old *plan.Node) []string {
	if old == nil {
		return nil
	}
	return old.Loopback
}

// goneRoutes are routes that a node no longer has.
func goneRoutes(old *plan.Node, n plan.Node) []spec.Route {
	if old == nil {
		return nil
	}
	var gone []spec.Route
	for _, r := range old.Routes {
		if !slices.Contains(n.Routes, r) {
			gone = append(gone, r)
		}
	}
	return gone
}
