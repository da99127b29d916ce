package spec

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"nines.dev/nines/exit"
)

// notInADuet are keys that make several trials of a file, where a duet is one.
var notInADuet = []string{"sweep", "repeat", "order", "method"}

// MakeDuet sets the sides of a duet, each by expressions such as "links.*.kind=veth"; none is the file as it is, or as the
// file's own duet has it. Keys of several trials are taken out, and returned.
func (f *File) MakeDuet(a, b []string) (left []string, err error) {
	drop := notInADuet
	if f.root.get("duet") == nil { // expectations of a duet name its sides
		drop = append([]string{"expect", "reference"}, drop...)
	}
	for _, key := range drop {
		if f.root.get(key) != nil {
			left = append(left, key)
			if err := f.Set(key + "="); err != nil {
				return left, err
			}
		}
	}
	for side, sets := range map[string][]string{SideA: a, SideB: b} {
		if len(sets) == 0 && f.root.get("duet").get(side) != nil {
			continue
		}
		if err := f.Set("duet." + side + "={}"); err != nil {
			return left, err
		}
		for _, set := range sets {
			if !strings.Contains(set, "=") {
				return left, exit.Wrongf("--%s %s: has no value; write --%s KEY=VALUE, such as --%s links.*.kind=veth", side, set, side, side)
			}
			if err := f.Set("duet." + side + "." + set); err != nil {
				return left, err
			}
		}
	}
	return left, nil
}

// DuetOf is a file that compares two: what differs between them are its sides, and all else is the first one's.
func DuetOf(a, b *File) (*File, error) {
	for _, f := range []*File{a, b} {
		for _, key := range []string{"duet", "sweep"} {
			if n := f.root.get(key); n != nil {
				errs := &collector{}
				errs.fail(n, key, "two files are compared as one variant each", "", fmt.Sprintf("take it out, or compare within the file: 'nines duet %s --a …'", f.name))
				return nil, errs.err()
			}
		}
	}
	differences, err := variantsOf(a, b)
	if err != nil {
		return nil, err
	}
	both := *a
	both.root = both.root.with([]string{"expect"}, nil).with([]string{"reference"}, nil) // of one variant
	both.sets = slices.Clone(a.sets)
	for side, name := range []string{SideA, SideB} {
		settings := &node{kind: mapping, place: a.root.place}
		for _, d := range differences {
			value := d.values[side]
			if value == nil {
				value = &node{kind: scalar, tag: "!!null", text: "null", place: d.place}
			}
			key := &node{kind: scalar, tag: "!!str", text: d.path, place: d.place}
			settings.entries = append(settings.entries, entry{key, value})
			text, err := json.Marshal(value.plain())
			if err != nil {
				return nil, fmt.Errorf("writing %s: %w", d.path, err)
			}
			both.sets = append(both.sets, fmt.Sprintf("duet.%s.%s=%s", name, d.path, text))
		}
		both.root = both.root.with([]string{"duet", name}, settings)
	}
	return &both, nil
}

// variantsOf are the differences between two files; where there are none, or they would not mean the same in one file, it
// is an error.
func variantsOf(a, b *File) ([]difference, error) {
	differences := differencesOf(a.root, b.root, nil)
	if len(differences) == 0 {
		return nil, exit.Wrongf("%s and %s say the same; change one of them, or measure one against itself: 'nines duet %s'", a.name, b.name, a.name)
	}
	if filepath.Dir(a.Origin()) != filepath.Dir(b.Origin()) {
		for _, d := range differences {
			if strings.Contains(d.path, ".mounts") {
				return nil, exit.Wrongf("%s: the files are in two folders, and relative paths would be those of %s; put both into one folder", d.path, a.name)
			}
		}
	}
	return differences, nil
}

// difference is a path at which two files have different values; nil: none.
type difference struct {
	path   string
	values [2]*node
	place  place
}

// differencesOf walks two trees side by side. A list counts as one value, but for links, which are matched by their place.
func differencesOf(a, b *node, steps []string) []difference {
	switch {
	case len(steps) == 1 && (steps[0] == "name" || steps[0] == "expect" || steps[0] == "reference"):
		return nil // of the result
	case a != nil && b != nil && a.kind == mapping && b.kind == mapping:
		var list []difference
		for _, key := range keysOfBoth(a, b) {
			list = append(list, differencesOf(a.get(key), b.get(key), under(steps, key))...)
		}
		return list
	case slices.Equal(steps, []string{"topology", "links"}) && a != nil && b != nil && a.kind == list && b.kind == list && len(a.items) == len(b.items):
		var all []difference
		for i := range a.items {
			all = append(all, differencesOf(a.items[i], b.items[i], under(steps, linkName(a.items[i], i)))...)
		}
		return all
	case a != nil && b != nil && reflect.DeepEqual(a.plain(), b.plain()):
		return nil
	}
	d := difference{path: quotedPath(steps), values: [2]*node{a, b}}
	d.path = strings.TrimPrefix(d.path, "topology.")
	if b != nil {
		d.place = b.place
	} else {
		d.place = a.place
	}
	return []difference{d}
}

// keysOfBoth are the keys of two mappings, each once.
func keysOfBoth(a, b *node) []string {
	keys := namesOf(a)
	for _, key := range namesOf(b) {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}
