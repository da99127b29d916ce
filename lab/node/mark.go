package node

import (
	"context"

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

// Mark gives a node these marks and no others. Those that it gets are in the journal before the others
// go, and these go at once: a kill in between leaves none too few.
func Mark(j *journal.Journal, nodeName string, m Marks) error {
	wanted := []struct {
		mark string
		is   bool
	}{{MarkStopped, m.Stopped}, {MarkUnfinished, m.Unfinished}, {MarkFresh, m.Fresh}}
	for _, w := range wanted {
		if !w.is || len(marked(j, nodeName, w.mark)) > 0 {
			continue
		}
		err := j.Make(journal.Step{Kind: KindMark, Node: nodeName, Name: w.mark}, func() (journal.Learnt, error) {
			return journal.Learnt{}, nil
		})
		if err != nil {
			return err
		}
	}
	var gone []int
	for _, w := range wanted {
		if !w.is {
			gone = append(gone, marked(j, nodeName, w.mark)...)
		}
	}
	j.Forget(gone...)
	return nil
}

// marked are the steps that give a node a mark.
func marked(j *journal.Journal, nodeName, mark string) []int {
	var ids []int
	for _, e := range j.Entries() {
		if e.Kind == KindMark && e.Node == nodeName && e.Name == mark {
			ids = append(ids, e.ID)
		}
	}
	return ids
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
