package spec

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"

	"nines.dev/nines/terminal"
)

// Limits on a sweep: each run is an Experiment of its own, in memory.
const (
	maxRuns        = 10_000
	maxRunsByNodes = 1_000_000 // runs × nodes of the tree
)

// axis is one key of the sweep: a path with its values, or a name with its cases.
type axis struct {
	path    string
	choices []choice
}

// choice is one value of an axis: what it changes, and its name in the run.
type choice struct {
	variable Variable
	changes  []change
}

// change puts one value at one or more places.
type change struct {
	places [][]string
	value  *node
}

// sweepReader reads the axes of a sweep over base.
type sweepReader struct {
	decoder
	base  *node
	taken claims
	// nullRemoves has a key without a value be as if it were not in the file.
	nullRemoves bool
}

// readSweep reads the sweep of a file, whose other keys are base.
func readSweep(root, base *node, errs *collector) []axis {
	swept := root.get("sweep")
	if swept == nil {
		swept = &node{kind: mapping, place: root.place}
	}
	d := &sweepReader{decoder: decoder{errs}, base: base}
	if swept.kind != mapping {
		d.fail(swept, "sweep", "must be a mapping of keys to lists, not "+swept.kind.String(), "", "write sweep: {traffic.rate_pps: [1000, 10000]}, or remove the key")
	}
	var axes []axis
	for _, e := range swept.entries {
		a, places := d.axis(e)
		if other := d.taken.claim(e.key.text, places); other != "" {
			d.fail(e.key, "sweep."+e.key.text, fmt.Sprintf("sets the same value as %q", clip(other)), "", "keep one of the two")
		}
		axes = append(axes, a)
	}
	if sizes, ok := standardSizes(base, axes, swept.place); ok {
		axes = append(axes, sizes)
	}
	return axes
}

// axis reads one entry of the sweep, and returns the places that it sets.
func (d *sweepReader) axis(e entry) (axis, [][]string) {
	path := "sweep." + e.key.text
	a := axis{path: e.key.text}
	if isCases(e) {
		return d.cases(e, path)
	}
	if matches(axisPattern, e.key.text) && !matches(sweptPattern, e.key.text) && e.value.kind == list && len(e.value.items) > 0 && e.value.items[0].kind == mapping {
		d.fail(e.value, path, "needs named cases, and this is a list", "", fmt.Sprintf("write %s: {first: {traffic.burst: 1}, second: {traffic.burst: 16}}", e.key.text))
		return a, nil
	}
	goal, ok := d.swept(e.key, path)
	switch {
	case !ok:
		return a, nil
	case e.value.kind != list:
		d.fail(e.value, path, "must be a list of values, not "+e.value.kind.String(), "", fmt.Sprintf("write %s: [a, b, c], or put the one value where the key belongs", e.key.text))
	case len(e.value.items) == 0:
		d.fail(e.value, path, "has no values", "", "give at least one, or remove the key")
	default:
		for i, value := range e.value.items {
			a.choices = append(a.choices, choice{
				d.variable(value, goal, e.key.text, fmt.Sprintf("%s.%d", path, i)), []change{{goal.places, value}},
			})
		}
	}
	return a, goal.places
}

// swept resolves a key that a sweep sets.
func (d *sweepReader) swept(key *node, path string) (target, bool) {
	goal, wrong := resolve(d.base, key.text)
	if wrong != nil {
		d.fail(key, path, wrong.problem, wrong.allowed, wrong.remedy)
		return target{}, false
	}
	if at := goal.places[0]; ofNode(at) && len(at) == 4 {
		d.fail(key, path, "a node's variables are swept one by one, as scripts ask for them by name", "nodes.NODE.variables.NAME", "")
		return target{}, false
	}
	switch goal.places[0][0] {
	case "topology", "traffic", "dpdk", "method", "isolation", "tuning", "trace", "tracing", "disturb", "variables":
		return goal, true
	}
	d.fail(key, path, "this key cannot be swept", "isolation, tuning, trace, and keys of topology, traffic, variables, disturb, tracing, dpdk and method", "")
	return target{}, false
}

// ofNode is true for the place of a node's variables, and of one of them.
func ofNode(at []string) bool { return len(at) > 3 && at[0] == "topology" && at[3] == "variables" }

// variable checks one value of the sweep by itself, so that an error has its place, and makes it
// the run's variable.
func (d *sweepReader) variable(n *node, goal target, key, path string) Variable {
	v := reflect.New(goal.typ).Elem()
	d.value(n, v, path, goal.rule)
	variable := Variable{Path: key, Text: n.text}
	for v.Kind() == reflect.Pointer && !v.IsNil() && shapeOf(v.Type().Elem()) == scalar {
		v = v.Elem()
	}
	switch {
	case n.kind != scalar || n.isNull():
		variable.Value = n.plain()
		if text, err := json.Marshal(variable.Value); err == nil {
			variable.Text = string(text)
		}
	case unitOf(v.Type()) != nil:
		variable.Text = fmt.Sprint(v.Interface())
		variable.Value = variable.Text
	case v.Kind() == reflect.Int:
		variable.Value = int(v.Int())
	case v.Kind() == reflect.Float64:
		variable.Value = v.Float()
	case v.Kind() == reflect.Bool:
		variable.Value = v.Bool()
	default:
		variable.Value = v.String()
		if number, ok := n.number(); ok && (goal.places[0][0] == "variables" || ofNode(goal.places[0])) {
			variable.Value = number // scripts get it as written
		}
	}
	return variable
}

// countRuns multiplies the axes and refuses more runs than fit into memory.
func countRuns(axes []axis, root, base *node, errs *collector) (int, bool) {
	count := 1.0
	for _, a := range axes {
		count *= float64(len(a.choices))
	}
	size := base.size()
	for _, a := range axes {
		largest := 0
		for _, c := range a.choices {
			largest = max(largest, c.size())
		}
		size += largest
	}
	most := math.Min(maxRuns, math.Max(1, float64(maxRunsByNodes/size)))
	if count <= most {
		return int(count), true
	}
	factors := make([]string, len(axes))
	for i, a := range axes {
		factors[i] = fmt.Sprintf("%d × %s", len(a.choices), a.path)
	}
	at, path, remedy := root.get("sweep"), "sweep", "sweep less, or in several files"
	if at == nil { // the only axis is the one of standardSizes
		at, path, remedy = root.get("method"), "method", "give one size as traffic.frame_bytes, or write a smaller experiment"
	}
	errs.fail(at, path, fmt.Sprintf("makes %.0f runs (%s)", count, terminal.Listed(factors)),
		fmt.Sprintf("at most %.0f runs with a file of this size", most), remedy)
	return 0, false
}

// apply returns the tree with the changes of the choice.
func (c choice) apply(tree *node) *node {
	for _, change := range c.changes {
		for _, steps := range change.places {
			tree = tree.with(steps, change.value)
		}
	}
	return tree
}

// size counts the nodes that the choice adds to a tree.
func (c choice) size() int {
	total := 0
	for _, change := range c.changes {
		total += change.value.size() * len(change.places)
	}
	return total
}
