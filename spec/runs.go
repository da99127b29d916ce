package spec

import (
	"fmt"
	"strings"
)

// Run is one combination of the sweep.
type Run struct {
	// Variables are the swept keys with this run's values, in the sweep's order;
	// empty without a sweep.
	Variables []Variable
	// Experiment has every default filled in and has been checked.
	Experiment *Experiment
	// sides are the experiments of a duet's sides; Experiment has both, side by side.
	sides []*Experiment
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

// VariableMap returns the run's variables by key.
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

// Runs checks the file and returns its runs: the cross product of the sweep, whose first key is the
// outermost loop, without repeats. The error is an Errors.
//
// It checks in layers: the keys and types of the file, then its sweep, then the keys and types of
// each run, then how the values of a run fit together. A layer with mistakes reports all of them
// and is the last to run, so that later layers work on valid values, and no error is only the
// consequence of another.
func (f *File) Runs() ([]Run, error) {
	if f.root.get("duet") != nil {
		return f.duet()
	}
	errs := &collector{}
	base := f.root.with([]string{"sweep"}, nil)
	decodeExperiment(base, errs)
	if len(errs.list) > 0 {
		return nil, errs.err()
	}
	axes := readSweep(f.root, base, errs)
	if len(errs.list) > 0 {
		return nil, errs.err()
	}
	count, ok := countRuns(axes, f.root, base, errs)
	if !ok {
		return nil, errs.err()
	}
	runs := make([]Run, count)
	for i := range runs {
		runs[i] = combine(base, axes, i, count)
	}
	if err := inEach(runs, (*Run).decode); err != nil {
		return nil, err
	}
	if err := inEach(runs, f.complete); err != nil {
		return nil, err
	}
	if f.checkExpectations(runs, errs); len(errs.list) > 0 {
		return nil, errs.err()
	}
	return runs, nil
}

// decode reads the run's values, with the names that the kernel takes for interfaces.
func (r *Run) decode(errs *collector) {
	called := vendorNames(r.tree, errs)
	r.tree = kernelNames(r.tree, errs)
	r.Experiment = decodeExperiment(r.tree, errs)
	for name, n := range r.Experiment.Topology.Nodes {
		if n != nil {
			n.InterfaceAliases = called[name]
		}
	}
}

// complete fills in a decoded run, and checks how its values fit together.
func (f *File) complete(run *Run, errs *collector) {
	fillIn(run.Experiment, run.tree)
	check(run.Experiment, run.tree, errs)
	f.locate(run.Experiment)
}

// inEach takes each run through one layer. A mistake in several runs is reported once.
func inEach(runs []Run, layer func(*Run, *collector)) error {
	var found []*Error
	firstWith, times := map[string]string{}, map[string]int{}
	for i := range runs {
		own := &collector{}
		layer(&runs[i], own)
		for _, e := range own.list {
			key := e.Error()
			if times[key]++; times[key] == 1 && len(found) < maxErrors {
				firstWith[key] = runs[i].String()
				found = append(found, e)
			}
		}
	}
	all := &collector{}
	for _, e := range found {
		// What fails in only some of the runs is caused by their combination of values.
		if key := e.Error(); times[key] < len(runs) {
			e.Problem += fmt.Sprintf(" (in %d of %d runs, first with %s)", times[key], len(runs), firstWith[key])
		}
		all.add(e)
	}
	return all.err()
}

// Experiment checks the file and returns its first run's experiment: the only one, where there is
// no sweep.
func (f *File) Experiment() (*Experiment, error) {
	runs, err := f.Runs()
	if err != nil {
		return nil, err
	}
	return runs[0].Experiment, nil
}

// combine returns the i-th of count combinations; the last axis changes fastest.
func combine(base *node, axes []axis, i, count int) Run {
	run := Run{tree: base}
	for _, a := range axes {
		count /= len(a.choices)
		chosen := a.choices[i/count]
		i %= count
		run.tree = chosen.apply(run.tree)
		run.Variables = append(run.Variables, chosen.variable)
	}
	return run
}
