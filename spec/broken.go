package spec

import "strings"

// broken is what of a file could not be read. The checks of meaning run all the same,
// on what could be, so that faults that have nothing to do with one another are told at
// once; but none draws a conclusion from what is not there, since an error that is only
// the consequence of another sends its reader astray.
type broken struct {
	// root is the tree that was read.
	root *node
	// paths are the keys without a usable value, in the form of quotedPath; the empty
	// one is the whole file. A key that is not known, and like none that is absent, is
	// noted as unknownKey under what holds it: any key absent there may be meant by it.
	paths []string
}

// unknownKey stands for a key that was not understood; no key of a struct is called so.
const unknownKey = "?"

func (b *broken) add(path string) { b.paths = append(b.paths, path) }

// there is true where the value at the steps was read, or is rightly absent. What is
// inside a mapping or list may still be broken.
func (b *broken) there(steps ...string) bool {
	if len(b.paths) == 0 {
		return true
	}
	for i := range len(steps) + 1 {
		if b.has(quotedPath(steps[:i])) {
			return false
		}
	}
	for i := range steps {
		if !b.root.holds(steps[:i+1]) && b.has(join(quotedPath(steps[:i]), unknownKey)) {
			return false
		}
	}
	return true
}

// sound is there with all that is inside.
func (b *broken) sound(steps ...string) bool {
	if !b.there(steps...) {
		return false
	}
	below := quotedPath(steps) + "."
	for _, path := range b.paths {
		if len(steps) == 0 || strings.HasPrefix(path, below) {
			return false
		}
	}
	return true
}

func (b *broken) has(path string) bool {
	for _, one := range b.paths {
		if one == path {
			return true
		}
	}
	return false
}

// quotedPath joins steps as a user writes them.
func quotedPath(steps []string) string {
	path := ""
	for _, step := range steps {
		path = join(path, quoteKey(step))
	}
	return path
}
