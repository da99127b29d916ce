package journal

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// WrongError means that a journal did not say everything. What it proves, and what a search finds, was undone all
// the same.
type WrongError struct {
	Path   string
	Damage []Damage
	// Found is what a search has found that no line names.
	Found []Found
	// Lost is what no search finds or restores.
	Lost []string
}

func (e *WrongError) Error() string {
	var parts []string
	if len(e.Damage) > 0 {
		parts = append(parts, describe(e.Damage))
	}
	if len(e.Found) == 1 {
		parts = append(parts, fmt.Sprintf("no line names %s, which a search found", e.Found[0]))
	} else if len(e.Found) > 1 {
		parts = append(parts, fmt.Sprintf("no line names %s and %d more, which a search found", e.Found[0], len(e.Found)-1))
	}
	if len(e.Lost) > 0 {
		parts = append(parts, "where a lost line had one of these, it is as the lab left it: "+strings.Join(e.Lost, "; "))
	}
	return fmt.Sprintf("the journal %s does not tell everything: %s", e.Path, strings.Join(parts, "; "))
}

// lost is what may not be as it was before: of the kinds of the damaged lines where these can still be read, or else
// of every kind. It is pure.
func lost(damage []Damage, found []Found) []string {
	kinds := map[Kind]bool{}
	unknown := len(damage) == 0 && len(found) > 0 // the end of the file was cut off
	for _, d := range damage {
		kind, known := d.kind()
		kinds[kind] = known
		unknown = unknown || !known
	}
	var list []string
	for _, kind := range slices.Sorted(maps.Keys(registered)) {
		if text := registered[kind].Lost; text != "" && (unknown || kinds[kind]) && !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}
