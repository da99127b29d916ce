package spec

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"nines.dev/nines/terminal"
)

// The forms of a sweep's keys: paths of the file, or names that the user chooses for sets of cases.
const (
	sweptPattern = `^(topology|traffic|dpdk|method|nodes|links|isolation|tuning|trace|tracing|disturb|variables)(\.|$)`
	axisPattern  = `^[a-z][a-z0-9_-]{0,31}$`
	axisForm     = "a lower-case letter, then letters, digits, '_' and '-', at most 32"
	casePattern  = `^[A-Za-z0-9]([A-Za-z0-9 ._+/-]{0,62}[A-Za-z0-9])?$`
	caseForm     = "letters, digits, spaces and . _ + / -, at most 64, with a letter or digit at both ends"
)

// isCases reports whether an entry of the sweep is a name with cases, each of which sets several
// keys together:
//
//	driver:
//	  bridge udp: {links.*.kind: bridge, traffic.backend: udp}
//	  memif:      {links.*.kind: memif, traffic.backend: dpdk}
//
// A path always leads into the file, and so begins with one of its keys.
func isCases(e entry) bool {
	return e.value.kind == mapping && !matches(sweptPattern, e.key.text)
}

// cases reads a name with its cases, and returns all places that they set.
func (d *sweepReader) cases(e entry, path string) (axis, [][]string) {
	switch {
	case slices.Contains(keysOf(reflect.TypeFor[Experiment]()), e.key.text):
		d.fail(e.key, path, "this key cannot be swept", "isolation, tuning, trace, and keys of topology, traffic, disturb, tracing, dpdk and method", "")
	case !matches(axisPattern, e.key.text):
		d.fail(e.key, path, fmt.Sprintf("%q cannot name cases", clip(e.key.text)), axisForm, "")
	case len(e.value.entries) == 0:
		d.fail(e.value, path, "has no cases", "", "give at least one, or remove the key")
	}
	a := axis{path: e.key.text}
	var places [][]string
	for _, one := range e.value.entries {
		here := path + "." + quoteKey(one.key.text)
		if !matches(casePattern, one.key.text) {
			d.fail(one.key, here, fmt.Sprintf("%q cannot name a case", clip(one.key.text)), caseForm, "")
			continue
		}
		c := choice{variable: Variable{Path: a.path, Value: one.key.text, Text: one.key.text}}
		c.changes, _ = d.settings(one.value, here, d.swept)
		for _, change := range c.changes {
			places = append(places, change.places...)
		}
		a.choices = append(a.choices, c)
	}
	return a, places
}

// settings reads keys with values that are set together. takes resolves a key, and refuses those that are not for this
// place.
func (d *sweepReader) settings(n *node, path string, takes func(key *node, path string) (target, bool)) ([]change, []Variable) {
	if n.isNull() {
		return nil, nil // the file as it is
	}
	if n.kind != mapping {
		d.fail(n, path, "must be a mapping of keys to values, not "+n.kind.String(), "", "write {traffic.backend: raw, traffic.io: batch}")
		return nil, nil
	}
	var list []change
	var variables []Variable
	var taken claims
	for _, e := range n.entries {
		here := path + "." + e.key.text
		goal, ok := takes(e.key, here)
		if !ok {
			continue
		}
		if other := taken.claim(e.key.text, goal.places); other != "" {
			d.fail(e.key, here, fmt.Sprintf("sets the same value as %q", clip(other)), "", "keep one of the two")
		}
		if e.value.isNull() && d.nullRemoves {
			variables = append(variables, Variable{Path: e.key.text, Text: "the default"})
			list = append(list, change{goal.places, nil})
			continue
		}
		variables = append(variables, d.variable(e.value, goal, e.key.text, here))
		list = append(list, change{goal.places, e.value})
	}
	return list, variables
}

// caseKeys lists the paths that the cases of an entry set.
func caseKeys(e entry) []keyAt {
	var list []keyAt
	for _, one := range e.value.entries {
		for _, key := range one.value.entries {
			list = append(list, keyAt{key.key.text, []string{"sweep", e.key.text, one.key.text, key.key.text}})
		}
	}
	return list
}

// withoutEmptyCases removes an entry from the sweep where a --set has left none of its cases a key
// to set.
func withoutEmptyCases(root *node, e entry) *node {
	if !isCases(e) || len(caseKeys(e)) == 0 {
		return root
	}
	if left := root.get("sweep").get(e.key.text); left != nil && len(caseKeys(entry{e.key, left})) == 0 {
		return root.with([]string{"sweep", e.key.text}, nil)
	}
	return root
}

// setCase applies a --set with the name of cases: it runs the case that the value names, and
// removes the name from the sweep. found is false where the sweep has no such name.
func (f *File) setCase(where, path, text string) (found bool, err error) {
	swept := f.root.get("sweep")
	cases := swept.get(path)
	if cases == nil || cases.kind != mapping || matches(sweptPattern, path) {
		return false, nil
	}
	var names []string
	for _, one := range cases.entries {
		names = append(names, one.key.text)
		if one.key.text != text {
			continue
		}
		root := f.root.with([]string{"sweep", path}, nil)
		if len(root.get("sweep").entries) == 0 {
			root = root.with([]string{"sweep"}, nil)
		}
		errs := &collector{}
		d := &sweepReader{decoder: decoder{errs}, base: f.root.with([]string{"sweep"}, nil)}
		changes, _ := d.settings(one.value, "sweep."+path+"."+quoteKey(text), d.swept)
		for _, change := range changes {
			for _, steps := range change.places {
				root = root.with(steps, change.value)
			}
		}
		if err := errs.err(); err != nil {
			return true, err
		}
		f.root, f.sets = root, append(f.sets, strings.TrimPrefix(where, "--set "))
		return true, nil
	}
	return true, &Error{File: where, Path: path, Problem: fmt.Sprintf("case %q does not exist", clip(text)),
		Allowed: terminal.Listed(names), Remedy: terminal.DidYouMean(text, names)}
}

// sweepSteps splits what follows "sweep." in a --set: the name of cases and the case,
// or a path, whose dots belong to it.
func (f *File) sweepSteps(key string) []string {
	name, one, ok := strings.Cut(key, ".")
	if cases := f.root.get("sweep").get(name); ok && cases != nil && cases.kind == mapping && !matches(sweptPattern, name) {
		return []string{name, strings.Trim(one, `"`)}
	}
	return []string{key}
}
