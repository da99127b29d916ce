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
		key := paths[0][strings.LastIndex(paths[0], ".")+1:]
		if !side.tree.holds(goal.places[0]) {
			values[i] = "default " + key
			continue
		}
		n := nameIn(side.tree.at(goal.places[0]))
		if n.kind != scalar || n.isNull() || len(n.text) > longestLabel {
			return named
		}
		values[i] = n.text
		if n.tag != "!!str" || !matches(wordPattern, n.text) { // a number says nothing without its key
			values[i] = key + "=" + n.text
		}
	}
	if values[0] == values[1] {
		return named
	}
	return values
}

// nameIn is the name of the only thing in a list, such as a service; any other value is itself.
func nameIn(n *node) *node {
	if n.kind == list && len(n.items) == 1 {
		if name := n.items[0].get("name"); name != nil {
			return name
		}
	}
	return n
}
