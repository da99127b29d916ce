package spec

import (
	"slices"
	"strings"
)

// longestLabel is how long a value may be that a side is called by.
const longestLabel = 24

// wordPattern is a value that can stand for itself.
const wordPattern = `^[A-Za-z]`

// labels are what a reader calls the sides: the value of the only key that differs, veth and bridge, also where one side
// has it from the file.
func labels(sides []Run) [2]string {
	named := [2]string{"side " + SideA, "side " + SideB}
	var paths []string
	for _, side := range sides {
		for _, v := range side.Variables {
			if !slices.Contains(paths, v.Path) {
				paths = append(paths, v.Path)
			}
		}
	}
	if len(paths) != 1 {
		return named
	}
	var values [2]string
	for i, side := range sides {
		goal, wrong := resolve(side.tree, paths[0])
		if wrong != nil {
			return named
		}
		n := side.tree.at(goal.places[0])
		if !side.tree.holds(goal.places[0]) || n.kind != scalar || n.isNull() || len(n.text) > longestLabel {
			return named
		}
		values[i] = n.text
		if n.tag != "!!str" || !matches(wordPattern, n.text) { // a number says nothing without its key
			values[i] = paths[0][strings.LastIndex(paths[0], ".")+1:] + "=" + n.text
		}
	}
	if values[0] == values[1] {
		return named
	}
	return values
}
