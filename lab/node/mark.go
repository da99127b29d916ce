package node

import (
	"context"
	"maps"
	"slices"

	"nines.dev/nines/journal"
)

// KindMark is what is known of a node besides its processes: Name is one of the marks. Nothing is
// made, so nothing is undone.
var KindMark = journal.Register("node mark", journal.Undo{Step: func(context.Context, journal.Undoing) error { return nil }})

const (
	// MarkStopped is the mark of a node that someone has stopped.
	MarkStopped = "stopped"
	// MarkUnfinished is the mark of a node while it is stopped or started. If it stays, that was cut
	// off.
	MarkUnfinished = "unfinished"
	// MarkFresh is the mark of a node whose files are recreated at its next start: those that it has may
	// be half made, or half removed.
	MarkFresh = "fresh"
)

// Marks are a node's marks.
type Marks struct{ Stopped, Unfinished, Fresh bool }

// take adds a mark of a journal.
func (m *Marks) take(mark string) {
	switch mark {
	case MarkStopped:
		m.Stopped = true
	case MarkUnfinished:
		m.Unfinished = true
	case MarkFresh:
		m.Fresh = true
	}
}

// names are the marks that are given.
func (m Marks) names() []string {
	var names []string
	for _, of := range []struct {
		mark string
		is   bool
	}{{MarkStopped, m.Stopped}, {MarkUnfinished, m.Unfinished}, {MarkFresh, m.Fresh}} {
		if of.is {
			names = append(names, of.mark)
		}
	}
	return names
}

// Mark gives nodes these marks and no others. Those that they get are in the journal before the others
// go, and these go at once: a kill in between leaves none too few.
func Mark(j *journal.Journal, nodes map[string]Marks) error {
	type mark struct{ node, name string }
	wanted := map[mark]bool{}
	for name, marks := range nodes {
		for _, m := range marks.names() {
			wanted[mark{name, m}] = true
		}
	}
	has := map[mark]bool{}
	var gone []int
	for _, e := range j.Entries() {
		_, marked := nodes[e.Node]
		switch m := (mark{e.Node, e.Name}); {
		case e.Kind != KindMark || !marked:
		case wanted[m]:
			has[m] = true
		default:
			gone = append(gone, e.ID)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(nodes)) {
		for _, m := range nodes[name].names() {
			if has[mark{name, m}] {
				continue
			}
			err := j.Make(journal.Step{Kind: KindMark, Node: name, Name: m}, func() (journal.Learnt, error) {
				return journal.Learnt{}, nil
			})
			if err != nil {
				return err
			}
		}
	}
	j.Forget(gone...)
	return nil
}

// OfPayload selects the steps of what runs in a node, which are undone when it is stopped: not its
// network, its links and its marks.
func OfPayload(e journal.Entry, nodeName string) bool {
	if e.Node != nodeName || e.Link != "" {
		return false
	}
	switch e.Kind {
	case KindNetwork, KindMark, journal.KindSymlink: // the link is the namespace's name
		return false
	}
	return true
}
