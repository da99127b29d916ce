package spec

import (
	"fmt"
	"reflect"
	"strings"
)

// sidePattern is the form of the keys that the sides of a duet set.
const sidePattern = `^(topology|traffic|nodes|links)\.`

// duet reads a file with a duet: each side is checked as an experiment of its own, and then both are put side by side.
func (f *File) duet() ([]Run, error) {
	errs := &collector{}
	base := f.root.with([]string{"duet", SideA}, nil).with([]string{"duet", SideB}, nil)
	if swept := f.root.get("sweep"); swept != nil {
		errs.fail(swept, "sweep", "a duet compares two variants in one trial, and a sweep makes several trials", "", "keep one of the two: --set sweep= or --set duet=")
		base = base.with([]string{"sweep"}, nil)
	}
	decoded := decodeExperiment(base, errs)
	if len(errs.list) > 0 {
		return nil, errs.err()
	}
	sides := f.readSides(base, errs)
	if len(errs.list) > 0 {
		return nil, errs.err()
	}
	err := inEach(sides, (*Run).decode)
	if err == nil {
		err = inEach(sides, f.complete)
	}
	if err != nil {
		return nil, err
	}
	checkDuet(sides, errs)
	f.checkExpectations(nil, errs)
	if len(errs.list) > 0 {
		return nil, errs.err()
	}
	return []Run{sideBySide(decoded.Duet.filled(f.Expectations(), errs), sides)}, nil
}

// readSides reads what each side sets, and returns both as runs with their trees.
func (f *File) readSides(base *node, errs *collector) []Run {
	d := &sideReader{sweepReader{decoder: decoder{errs}, base: base, nullRemoves: true}}
	alone := base // what is expected is of both sides
	for _, key := range []string{"duet", "expect", "reference"} {
		alone = alone.with([]string{key}, nil)
	}
	sides := make([]Run, 0, 2)
	for _, name := range []string{SideA, SideB} {
		path := "duet." + name
		given := f.root.get("duet").get(name)
		if given == nil {
			d.fail(f.root.get("duet"), "duet", fmt.Sprintf("the key %q is missing", name), "", "add it; "+name+": {} is the file as it is")
			continue
		}
		side := Run{tree: alone}
		var changes []change
		changes, side.Variables = d.settings(given, path, d.takes)
		for _, c := range changes {
			for _, steps := range c.places {
				side.tree = side.tree.with(steps, c.value)
			}
		}
		sides = append(sides, side)
	}
	return sides
}

// sideReader reads the sides of a duet.
type sideReader struct{ sweepReader }

// takes resolves a key that a side sets, and says why it cannot be different on two sides.
func (d *sideReader) takes(key *node, path string) (target, bool) {
	goal, wrong := resolve(d.base, key.text)
	if wrong != nil {
		d.fail(key, path, wrong.problem, wrong.allowed, wrong.remedy)
		return target{}, false
	}
	for _, place := range goal.places {
		if reason, remedy := d.common(place); reason != "" {
			d.fail(key, path, "cannot be different on two sides: "+reason, "", remedy)
			return target{}, false
		}
	}
	return goal, true
}

// sidedTraffic are the keys of the traffic that an interface has, and not the schedule of both sides.
var sidedTraffic = map[string]bool{"backend": true, "io": true, "wait": true}

// common says why both sides have the value of a place in common, and what to do; empty: they need not.
func (d *sideReader) common(place []string) (reason, remedy string) {
	before := "set it for both, beside duet:"
	alone := "compare the two by a sweep, whose trials come one after another"
	switch place[0] {
	case "tuning", "isolation", "disturb":
		return "it is one for the whole host, on which both sides run at the same time", alone
	case "traffic":
		if len(place) > 1 && sidedTraffic[place[1]] {
			return "", ""
		}
		return "the packets of both sides come from one sender by one schedule", alone
	case "topology":
		return d.commonOfTopology(place)
	case "name", "prefix":
		return "both sides are one lab", before
	}
	return "it is one for the lab, which has both sides", before
}

func (d *sideReader) commonOfTopology(place []string) (reason, remedy string) {
	switch {
	case len(place) < 3:
		return "the sides have the same nodes and links", "set keys of single nodes and links, such as links.*.kind"
	case place[1] == "links" && len(place) > 3 && (place[3] == "name" || place[3] == "endpoints"):
		return "the sides have the same links between the same nodes", "write a file for each, and compare them by runs"
	case place[1] == "nodes" && d.base.get("topology").get("nodes").get(place[2]) == nil:
		return "the sides have the same nodes", "add the node beside duet:"
	}
	for _, key := range []string{"from", "to"} {
		end := d.base.get("traffic").get(key)
		if end == nil || place[1] != "nodes" {
			continue
		}
		if name, _ := splitEndpoint(end.text); name == place[2] {
			return fmt.Sprintf("node %s sends or receives the packets of both", clip(name)), "set it for both, beside duet:; how an interface of it receives is links.LINK.rx"
		}
	}
	return "", ""
}

// setDuetSide applies a --set with a key of a side, whose dots belong to the key; found is false for other keys.
func (f *File) setDuetSide(where, path, text string) (found bool, err error) {
	for _, side := range []string{SideA, SideB} {
		key, is := strings.CutPrefix(path, "duet."+side)
		if !is || key != "" && key[0] != '.' {
			continue
		}
		value, err := setValue(where, text, reflect.TypeFor[map[string]any]())
		if err != nil {
			return true, err
		}
		if text == "null" { // the key's default, on this side
			value = &node{kind: scalar, tag: "!!null", text: text, place: place{file: where}}
		}
		steps := []string{"duet", side}
		if key != "" {
			steps = append(steps, key[1:])
		}
		f.root, f.sets = f.root.with(steps, value), append(f.sets, strings.TrimPrefix(where, "--set "))
		return true, nil
	}
	return false, nil
}
