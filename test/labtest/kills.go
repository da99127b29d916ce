package labtest

import (
	"slices"
	"strings"
)

// KillPoints chooses the points at which to kill a program, by the order in which it has
// passed them (package fault; the first is 1): one for each kind of step, each of another moment
// of its step than that before, and one for each moment that is of no step. Those in known are left
// out; the kinds of the others are added to it.
func KillPoints(passed []string, known map[string]bool) []int {
	var kinds []string               // of steps, in the order of their first
	moments := map[string][]string{} // of a kind of step
	first := map[string]int{}        // point
	for i, point := range passed {
		if _, known := first[point]; known {
			continue
		}
		first[point] = i + 1
		moment, kind, ofStep := strings.Cut(point, "\t")
		if !ofStep {
			kind = point
		}
		if moments[kind] == nil {
			kinds = append(kinds, kind)
		}
		moments[kind] = append(moments[kind], moment)
	}
	var points []int
	for i, kind := range kinds {
		if known[kind] {
			continue
		}
		known[kind] = true
		moment := moments[kind][i%len(moments[kind])]
		if moment != kind {
			moment += "\t" + kind
		}
		points = append(points, first[moment])
	}
	slices.Sort(points)
	return points
}
