package lab

import (
	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/node"
)

// runningOf is the node whose first process a journal's entry started; nil if it
// is another kind of entry. A node's first step has the node's own token; engines, pollers
// and QEMU, which are processes of a node too, have others.
func runningOf(j *journal.Journal, entry journal.Entry) *node.Running {
	starts := entry.Kind == journal.KindProcess || entry.Kind == journal.KindContainer || entry.Kind == journal.KindHostNode
	if !starts || entry.Node == "" || entry.Token != j.Token(entry.Node) || entry.Learnt == nil {
		return nil
	}
	r := &node.Running{
		Name: entry.Node, Step: entry.ID,
		Identity: proc.Identity{PID: entry.Learnt.PID, StartTicks: entry.Learnt.StartTicks},
	}
	if entry.Kind == journal.KindHostNode {
		r.Token = entry.Token
	}
	return r
}

// mergedSettings are the settings of before, as far as their devices are still in
// the plan, with those made now.
func (b *builder) mergedSettings() []link.Setting {
	type key struct{ node, link, device string }
	wanted := map[key]bool{}
	for _, l := range b.plan.Links {
		wanted[key{"", l.Name, l.Device}] = true
		for _, e := range l.Endpoints {
			wanted[key{"", l.Name, e.FabricDevice}] = true
			wanted[key{e.Node, l.Name, e.Interface}] = true
		}
	}
	merged := b.site.Settings()
	have := map[key]bool{}
	for _, s := range merged {
		have[key{s.Node, s.Link, s.Device}] = true
	}
	for _, s := range b.settings {
		if k := (key{s.Node, s.Link, s.Device}); wanted[k] && !have[k] {
			merged = append(merged, s)
		}
	}
	return merged
}
