package spec

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
)

// Limits on a sweep: each run is an Experiment of its own, in memory.
const (
	maxRuns        = 10_000
	maxRunsByNodes = 1_000_000 // runs × nodes of the tree
)

// Run is one combination of the sweep.
type Run struct {
	// Variables are the swept keys with this run's values, in the sweep's order;
	// empty without a sweep.
	Variables []Variable
	// Experiment has every default filled in and has been checked.
	Experiment *Experiment
}

// Variable is a swept key and its value in one run.
type Variable struct {
	Path string // as the file writes it: "links.*.kind"
	// Value is a string, float64, int, bool, or what encoding/json makes of a
	// mapping or list.
	Value any
	// Text is the value in one line, as the file writes it.
	Text string
}

// VariableMap gives the run's variables by key.
func (r Run) VariableMap() map[string]any {
	m := make(map[string]any, len(r.Variables))
	for _, v := range r.Variables {
		m[v.Path] = v.Value
	}
	return m
}

// String names the combination: "links.*.kind=veth, traffic.rate_pps=1000".
func (r Run) String() string {
	parts := make([]string, len(r.Variables))
	for i, v := range r.Variables {
		parts[i] = v.Path + "=" + v.Text
	}
	return strings.Join(parts, ", ")
}

// axis is one key of the sweep: a path with its values, or a name with its cases.
type axis struct {
	path    string
	choices []choice
}

// choice is one value of an axis: what it changes, and how the run calls it.
type choice struct {
	variable Variable
	changes  []change
}

// change puts one value at one or more places.
type change struct {
	places [][]string
	value  *node
}

// Runs checks the file and gives its runs: the cross product of the sweep, whose
// first key is the outermost loop. Repeats are not in it. The error is an Errors.
func (f *File) Runs() ([]Run, error) {
	errs := &collector{}
	base := f.root.with([]string{"sweep"}, nil)
	first := decodeExperiment(base, errs)
	if err := errs.err(); err != nil {
		return nil, err
	}
	checkLimits(first, base, errs)
	axes := f.axes(base, errs)
	if err := errs.err(); err != nil {
		return nil, err
	}
	count, err := f.countRuns(base, axes)
	if err != nil {
		return nil, err
	}
	runs := make([]Run, 0, count)
	firstWith, times := map[string]string{}, map[string]int{}
	var found []*Error
	for i := range count {
		run, tree := combine(base, axes, i, count)
		own := &collector{}
		run.Experiment = decodeExperiment(tree, own)
		if len(own.list) == 0 {
			fillIn(run.Experiment, tree)
			check(run.Experiment, tree, own)
		}
		for _, e := range own.list {
			key := e.Error()
			if times[key]++; times[key] == 1 && len(found) < maxErrors {
				firstWith[key] = run.String()
				found = append(found, e)
			}
		}
		runs = append(runs, run)
	}
	for _, e := range found {
		// What fails in some runs only is the doing of their combination.
		if key := e.Error(); times[key] < count {
			e.Problem += fmt.Sprintf(" (in %d of %d runs, first with %s)", times[key], count, firstWith[key])
		}
		errs.add(e)
	}
	if err := errs.err(); err != nil {
		return nil, err
	}
	return runs, nil
}

// Experiment checks the file and gives its first run's experiment, which is the
// only one without a sweep.
func (f *File) Experiment() (*Experiment, error) {
	runs, err := f.Runs()
	if err != nil {
		return nil, err
	}
	return runs[0].Experiment, nil
}

// axes reads the sweep.
func (f *File) axes(base *node, errs *collector) []axis {
	d := &decoder{errs}
	swept := f.root.get("sweep")
	if swept == nil {
		if sizes, ok := standardSizes(base, nil, f.root.place); ok {
			return []axis{sizes}
		}
		return nil
	}
	if swept.kind != mapping {
		d.fail(swept, "sweep", "wants a mapping of keys to lists, and this is "+swept.kind.String(), "", "write sweep: {traffic.rate_pps: [1000, 10000]}, or take the key away")
		return nil
	}
	var axes []axis
	var taken claims
	for _, e := range swept.entries {
		path := "sweep." + e.key.text
		if isCases(e) {
			if a, places := d.cases(base, e, path); a != nil {
				if other := taken.claim(e.key.text, places); other != "" {
					d.fail(e.key, path, fmt.Sprintf("sets the same value as %q", clip(other)), "", "keep one of the two")
				}
				axes = append(axes, *a)
			}
			continue
		}
		if matches(axisPattern, e.key.text) && !matches(sweptPattern, e.key.text) && e.value.kind == list && len(e.value.items) > 0 && e.value.items[0].kind == mapping {
			d.fail(e.value, path, "wants cases with names, and this is a list", "", fmt.Sprintf("write %s: {first: {traffic.burst: 1}, second: {traffic.burst: 16}}", e.key.text))
			continue
		}
		goal, ok := d.swept(base, e.key, path)
		switch {
		case !ok:
			continue
		case e.value.kind != list:
			d.fail(e.value, path, "wants a list of values, and this is "+e.value.kind.String(), "", fmt.Sprintf("write %s: [a, b, c], or put the one value where the key belongs", e.key.text))
			continue
		case len(e.value.items) == 0:
			d.fail(e.value, path, "has no values", "", "give at least one, or take the key away")
			continue
		}
		if other := taken.claim(e.key.text, goal.places); other != "" {
			d.fail(e.key, path, fmt.Sprintf("sets the same value as %q", clip(other)), "", "keep one of the two")
		}
		a := axis{path: e.key.text}
		for i, value := range e.value.items {
			a.choices = append(a.choices, choice{
				d.variable(value, goal, e.key.text, fmt.Sprintf("%s.%d", path, i)), []change{{goal.places, value}},
			})
		}
		axes = append(axes, a)
	}
	if sizes, ok := standardSizes(base, axes, swept.place); ok {
		axes = append(axes, sizes)
	}
	return axes
}

// swept resolves a key that a sweep sets.
func (d *decoder) swept(base, key *node, path string) (target, bool) {
	goal, wrong := resolve(base, key.text)
	if wrong != nil {
		d.fail(key, path, wrong.problem, wrong.allowed, wrong.remedy)
		return target{}, false
	}
	switch goal.places[0][0] {
	case "topology", "traffic", "dpdk", "method", "isolation", "tuning", "trace", "tracing", "disturb":
		return goal, true
	}
	d.fail(key, path, "this key is the same for all runs", "isolation, tuning, trace, and keys of topology, traffic, disturb, tracing, dpdk and method", "")
	return target{}, false
}

// variable checks one value of the sweep by itself, which gives its place to a
// wrong one, and makes it the run's variable.
func (d *decoder) variable(n *node, goal target, key, path string) Variable {
	v := reflect.New(goal.typ).Elem()
	before := len(d.errs.list)
	d.value(n, v, path, goal.rule)
	if len(d.errs.list) > before {
		return Variable{Path: key}
	}
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
	}
	return variable
}

// countRuns multiplies the axes and refuses what does not fit into memory.
func (f *File) countRuns(base *node, axes []axis) (int, error) {
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
		return int(count), nil
	}
	at := f.root.get("sweep").place
	factors := make([]string, len(axes))
	for i, a := range axes {
		factors[i] = fmt.Sprintf("%d × %s", len(a.choices), a.path)
	}
	return 0, Errors{{
		File: at.file, Line: at.line, Column: at.column, Path: "sweep",
		Problem: fmt.Sprintf("makes %.0f runs (%s)", count, listedInOrder(factors)),
		Allowed: fmt.Sprintf("at most %.0f runs with a file of this size", most),
		Remedy:  "sweep less, or in several files",
	}}
}

// combine gives the i-th of count combinations; the last axis turns fastest.
func combine(base *node, axes []axis, i, count int) (Run, *node) {
	tree := base
	run := Run{}
	for _, a := range axes {
		count /= len(a.choices)
		chosen := a.choices[i/count]
		i %= count
		tree = chosen.apply(tree)
		run.Variables = append(run.Variables, chosen.variable)
	}
	return run, tree
}

// apply gives the tree with all that the choice changes.
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
