package spec

import (
	"cmp"
	"strconv"

	"go.yaml.in/yaml/v4"
)

// kind is the shape of a tree node.
type kind int

const (
	scalar kind = iota
	mapping
	list
)

// String names the shape as error messages do.
func (k kind) String() string {
	switch k {
	case mapping:
		return "a mapping"
	case list:
		return "a list"
	default:
		return "a single value"
	}
}

// place is where a node was written.
type place struct {
	file         string
	line, column int
}

func (p place) before(other place) bool {
	return cmp.Or(cmp.Compare(p.file, other.file), cmp.Compare(p.line, other.line), cmp.Compare(p.column, other.column)) < 0
}

// node is a value of the file that remembers its place. A tree is never changed after it is made:
// with shares the parts it does not change, so the runs of a sweep cost only what differs.
type node struct {
	kind    kind
	tag     string // of a scalar: !!str, !!int, !!float, !!bool, !!null
	text    string // of a scalar
	entries []entry
	items   []*node
	place   place
	style   yaml.Style
	// before, beside and after are the comments around the node.
	before, beside, after string
}

// entry is one key of a mapping, in the file's order.
type entry struct{ key, value *node }

func (n *node) get(key string) *node {
	if n == nil || n.kind != mapping {
		return nil
	}
	for _, e := range n.entries {
		if e.key.text == key {
			return e.value
		}
	}
	return nil
}

// holds is true if the tree has a value at the steps.
func (n *node) holds(steps []string) bool {
	return len(steps) == 0 || n.at(steps) != n.at(steps[:len(steps)-1])
}

func (n *node) isNull() bool { return n.kind == scalar && n.tag == "!!null" }

// size counts the nodes of the tree.
func (n *node) size() int {
	total := 1
	for _, e := range n.entries {
		total += 1 + e.value.size()
	}
	for _, item := range n.items {
		total += item.size()
	}
	return total
}

// at follows the steps and returns the deepest node that exists, so that an error about an absent
// value points at the value around it.
func (n *node) at(steps []string) *node {
	here := n
	for _, step := range steps {
		var next *node
		switch here.kind {
		case mapping:
			next = here.get(step)
		case list:
			if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(here.items) {
				next = here.items[i]
			}
		}
		if next == nil {
			return here
		}
		here = next
	}
	return here
}

// with returns a tree in which the value at the steps is replaced, added, or, for a nil value,
// removed. It adds missing mappings on the way; list items must exist.
func (n *node) with(steps []string, value *node) *node {
	if len(steps) == 0 {
		return value
	}
	if n == nil || n.isNull() {
		if value == nil {
			return n
		}
		n = &node{kind: mapping, place: value.place}
	}
	changed := *n
	switch n.kind {
	case mapping:
		changed.entries = make([]entry, 0, len(n.entries)+1)
		found := false
		for _, e := range n.entries {
			if e.key.text == steps[0] {
				found = true
				if e.value = e.value.with(steps[1:], value); e.value == nil {
					continue
				}
			}
			changed.entries = append(changed.entries, e)
		}
		if !found && value != nil {
			key := &node{kind: scalar, tag: "!!str", text: steps[0], place: value.place}
			var none *node
			changed.entries = append(changed.entries, entry{key, none.with(steps[1:], value)})
		}
	case list:
		i, err := strconv.Atoi(steps[0])
		if err != nil || i < 0 || i >= len(n.items) {
			return n
		}
		item := n.items[i].with(steps[1:], value)
		changed.items = append([]*node(nil), n.items[:i]...)
		if item != nil {
			changed.items = append(changed.items, item)
		}
		changed.items = append(changed.items, n.items[i+1:]...)
	}
	return &changed
}

// withParts is the node with other entries and items; itself, if they are its own.
func (n *node) withParts(entries []entry, items []*node) *node {
	if sameList(entries, n.entries) && sameList(items, n.items) {
		return n
	}
	changed := *n
	changed.entries, changed.items = entries, items
	return &changed
}

// sameList is true for one list, not for two alike.
func sameList[T any](a, b []T) bool { return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) }

// plain returns the tree as encoding/json would: maps, slices, numbers, strings.
func (n *node) plain() any {
	switch n.kind {
	case mapping:
		m := make(map[string]any, len(n.entries))
		for _, e := range n.entries {
			m[e.key.text] = e.value.plain()
		}
		return m
	case list:
		l := make([]any, len(n.items))
		for i, item := range n.items {
			l[i] = item.plain()
		}
		return l
	}
	switch n.tag {
	case "!!int", "!!float":
		if v, ok := n.number(); ok {
			return v
		}
	case "!!bool":
		return n.text == "true" || n.text == "True" || n.text == "TRUE"
	case "!!null":
		return nil
	}
	return n.text
}

// yaml turns the tree back into the library's nodes, with comments and style.
func (n *node) yaml() *yaml.Node { return n.yamlIn(false) }

// yamlIn is yaml; flow is set for a node inside [] or {}, where the library would write an empty
// value as an empty text.
func (n *node) yamlIn(flow bool) *yaml.Node {
	flow = flow || n.style&yaml.FlowStyle != 0
	out := &yaml.Node{Style: n.style, HeadComment: n.before, LineComment: n.beside, FootComment: n.after}
	switch n.kind {
	case mapping:
		out.Kind, out.Tag = yaml.MappingNode, "!!map"
		for _, e := range n.entries {
			out.Content = append(out.Content, e.key.yamlIn(flow), e.value.yamlIn(flow))
		}
	case list:
		out.Kind, out.Tag = yaml.SequenceNode, "!!seq"
		for _, item := range n.items {
			out.Content = append(out.Content, item.yamlIn(flow))
		}
	default:
		out.Kind, out.Tag, out.Value = yaml.ScalarNode, n.tag, n.text
		if flow && n.isNull() && n.text == "" {
			out.Value = "null"
		}
	}
	return out
}
