package node

import (
	"context"

	"nines.dev/nines/journal"
)

// KindMark is what is known of a node besides its processes: Name is one of the marks. Nothing is
// made, so nothing is undone.
var KindMark = journal.Register("node mark", journal.Undo{Step: func(context.Context, journal.Undoing) error { return nil }})

const (
	// MarkStopped is the mark of a node that somebody has stopped.
	MarkStopped = "stopped"
	// MarkUnfinished is the mark of a node while it is stopped or started. If it stays, that was cut
	// off.
	MarkUnfinished = "unfinished"
)

// Mark marks a node; a node that has the mark already keeps it.
func Mark(j *journal.Journal, nodeName, mark string) error {
	if len(marks(j, nodeName, mark)) > 0 {
		return nil
	}
	return j.Make(journal.Step{Kind: KindMark, Node: nodeName, Name: mark}, func() (journal.Learnt, error) {
		return journal.Learnt{}, nil
	})
}

// Unmark takes marks from a node.
func Unmark(j *journal.Journal, nodeName string, taken ...string) {
	for _, mark := range taken {
		j.Forget(marks(j, nodeName, mark)...)
	}
}

func marks(j *journal.Journal, nodeName, mark string) []int {
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
