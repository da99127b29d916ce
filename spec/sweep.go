package spec

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
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
	// tree is the file with this run's values, for places.
	tree *node
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
	root := (&decoder{errs: errs}).mend(f.root, reflect.TypeFor[Experiment](), "")
	base := root.with([]string{"sweep"}, nil)
	first, broken := decodeExperiment(base, errs)
	if !checkLimits(first, base, errs) || errs.full() {
		return nil, errs.err()
	}
	s := readSweep(root, base, broken, errs)
	count, ok := s.count(root, base, errs)
	if !ok {
		return nil, errs.err()
	}
	runs := make([]Run, 0, count)
	firstWith, times := map[string]string{}, map[string]int{}
	var found []*Error
	for i := range count {
		run, tree := combine(base, s.axes, i, count)
		own := &collector{}
		experiment, broken := decodeExperiment(tree, own)
		run.Experiment, run.tree = experiment, tree
		broken.add(s.broken...)
		if !own.full() {
			fillIn(run.Experiment, tree)
			check(run.Experiment, tree, broken, own)
		}
		for _, e := range own.list {
			key := e.Error()
			if times[key]++; times[key] == 1 && len(found) < maxErrors && !errs.seen[key] {
				firstWith[key] = run.String()
				found = append(found, e)
			}
		}
		runs = append(runs, run)
	}
	for _, e := range found {
		// What fails in some runs only is the doing of their combination.
		switch key := e.Error(); {
		case times[key] == count:
		case len(s.broken) > 0: // how many runs there are to be is not known
			e.Problem += fmt.Sprintf(" (in some runs, first with %s)", firstWith[key])
		default:
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

// sweep is the axes of a sweep that could be read, and what the others would have set.
type sweep struct {
	axes []axis
	// broken are the paths below which nothing can be said of the runs.
	broken []string
}

// sweepReader reads the axes of a sweep over base.
type sweepReader struct {
	decoder
	base *node
	// unread is what of base could not be read: what is not found there may only be
	// missed because of it.
	unread *broken
	taken  claims
}

// readSweep reads the sweep of a file, whose other keys are base.
func readSweep(root, base *node, unread *broken, errs *collector) sweep {
	d := &sweepReader{decoder: decoder{errs: errs}, base: base, unread: unread}
	swept := root.get("sweep")
	var s sweep
	switch {
	case swept == nil:
		swept = &node{kind: mapping, place: root.place}
	case swept.kind != mapping:
		d.fail(swept, "sweep", "wants a mapping of keys to lists, and this is "+swept.kind.String(), "", "write sweep: {traffic.rate_pps: [1000, 10000]}, or take the key away")
		s.broken = []string{""}
	}
	for _, e := range swept.entries {
		before := d.broken.added
		a, places := d.axis(e)
		if other := d.taken.claim(e.key.text, places); other != "" {
			d.fail(e.key, "sweep."+e.key.text, fmt.Sprintf("sets the same value as %q", clip(other)), "", "keep one of the two")
		}
		// What it sets inside of something that could not be read would stand there alone.
		inside := slices.ContainsFunc(places, func(steps []string) bool { return !unread.there(steps[:len(steps)-1]...) })
		if d.broken.added == before && !inside {
			s.axes = append(s.axes, a)
		} else {
			s.broken = append(s.broken, wouldSet(e, places)...)
		}
	}
	if sizes, ok := standardSizes(base, s.axes, swept.place); ok {
		lost := &broken{root: base}
		lost.add(s.broken...)
		// Else the file was to say otherwise, and no run would have had them.
		known := func(b *broken) bool { return b.sound("method", "kind") && b.sound("traffic", "frame_bytes") }
		if known(unread) && known(lost) {
			s.axes = append(s.axes, sizes)
		} else {
			s.broken = append(s.broken, sizes.path)
		}
	}
	return s
}

// wouldSet are the paths that an entry of the sweep with an error was to set: its places
// if its key was understood, else the sections that its keys name.
func wouldSet(e entry, places [][]string) []string {
	var paths []string
	keys := []keyAt{{path: e.key.text}}
	switch {
	case isCases(e):
		keys = caseKeys(e)
	case len(places) > 0:
		keys = nil
		for _, steps := range places {
			paths = append(paths, quotedPath(steps))
		}
	}
	for _, key := range keys {
		section, _, _ := strings.Cut(key.path, ".")
		switch _, known := fieldOf(reflect.TypeFor[Experiment](), section); {
		case section == "links" || section == "nodes":
			section = "topology"
		case !known:
			section = ""
		}
		paths = append(paths, section)
	}
	if len(paths) == 0 {
		return []string{""}
	}
	return paths
}

// axis reads one entry of the sweep, and gives the places that it sets.
func (d *sweepReader) axis(e entry) (axis, [][]string) {
	path := "sweep." + e.key.text
	a := axis{path: e.key.text}
	if isCases(e) {
		return d.cases(e, path)
	}
	if matches(axisPattern, e.key.text) && !matches(sweptPattern, e.key.text) && e.value.kind == list && len(e.value.items) > 0 && e.value.items[0].kind == mapping {
		d.fail(e.value, path, "wants cases with names, and this is a list", "", fmt.Sprintf("write %s: {first: {traffic.burst: 1}, second: {traffic.burst: 16}}", e.key.text))
		return a, nil
	}
	goal, ok := d.swept(e.key, path)
	switch {
	case !ok:
		return a, nil
	case e.value.kind != list:
		d.fail(e.value, path, "wants a list of values, and this is "+e.value.kind.String(), "", fmt.Sprintf("write %s: [a, b, c], or put the one value where the key belongs", e.key.text))
	case len(e.value.items) == 0:
		d.fail(e.value, path, "has no values", "", "give at least one, or take the key away")
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
		d.broken.add(path)
		readable := d.unread.there
		if wrong.below {
			readable = d.unread.sound
		}
		if !slices.ContainsFunc(wrong.missing, func(steps []string) bool { return !readable(steps...) }) {
			d.errs.fail(key, path, wrong.problem, wrong.allowed, wrong.remedy)
		}
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
func (d *sweepReader) variable(n *node, goal target, key, path string) Variable {
	v := reflect.New(goal.typ).Elem()
	before := d.broken.added
	d.value(n, v, path, goal.rule)
	if d.broken.added > before {
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

// count multiplies the axes and refuses what does not fit into memory.
func (s sweep) count(root, base *node, errs *collector) (int, bool) {
	count := 1.0
	for _, a := range s.axes {
		count *= float64(len(a.choices))
	}
	size := base.size()
	for _, a := range s.axes {
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
	factors := make([]string, len(s.axes))
	for i, a := range s.axes {
		factors[i] = fmt.Sprintf("%d × %s", len(a.choices), a.path)
	}
	at, path, remedy := root.get("sweep"), "sweep", "sweep less, or in several files"
	if at == nil { // the one axis is that of standardSizes
		at, path, remedy = root.get("method"), "method", "give one size as traffic.frame_bytes, or write a smaller experiment"
	}
	errs.fail(at, path, fmt.Sprintf("makes %.0f runs (%s)", count, listedInOrder(factors)),
		fmt.Sprintf("at most %.0f runs with a file of this size", most), remedy)
	return 0, false
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
