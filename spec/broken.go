package spec

import (
	"maps"
	"slices"
	"strings"
)

// broken is what of a file could not be read. The checks of meaning run all the same,
// on what could be, so that faults that have nothing to do with one another are told at
// once; but none draws a conclusion from what is not there, since an error that is only
// the consequence of another sends its reader astray.
//
// A sweep over all links can break a path for each, and each link asks many times: so
// that a file costs no more than its size, no question looks at all the paths.
type broken struct {
	// root is the tree that was read.
	root *node
	// paths are the keys without a usable value, in the form of quotedPath; the empty
	// one is the whole file. A key that is not known, and like none that is absent, is
	// noted as unknownKey under what holds it: any key absent there may be meant by it.
	paths map[string]bool
	// sorted are the paths in order, where those inside of another stand together; it is
	// made when it is asked for, after all have been added.
	sorted []string
	// added counts the faults, of which several may be at one path.
	added int
}

// unknownKey stands for a key that was not understood; no key of a struct is called so.
const unknownKey = "?"

func (b *broken) add(paths ...string) {
	if b.paths == nil {
		b.paths = map[string]bool{}
	}
	for _, path := range paths {
		b.paths[path] = true
	}
	b.added += len(paths)
}

// there is true where the value at the steps was read, or is rightly absent. What is
// inside a mapping or list may still be broken.
func (b *broken) there(steps ...string) bool {
	if len(b.paths) == 0 {
		return true
	}
	path := ""
	for i, step := range steps {
		if b.has(path) || b.has(join(path, unknownKey)) && !b.root.holds(steps[:i+1]) {
			return false
		}
		path = join(path, quoteKey(step))
	}
	return !b.has(path)
}

// sound is there with all that is inside.
func (b *broken) sound(steps ...string) bool {
	switch {
	case len(b.paths) == 0:
		return true
	case len(steps) == 0 || !b.there(steps...):
		return false
	}
	if len(b.sorted) != len(b.paths) {
		b.sorted = slices.Sorted(maps.Keys(b.paths))
	}
	below := quotedPath(steps) + "."
	first, _ := slices.BinarySearch(b.sorted, below)
	return first == len(b.sorted) || !strings.HasPrefix(b.sorted[first], below)
}

func (b *broken) has(path string) bool { return b.paths[path] }

// quotedPath joins steps as a user writes them.
func quotedPath(steps []string) string {
	path := ""
	for _, step := range steps {
		path = join(path, quoteKey(step))
	}
	return path
}
