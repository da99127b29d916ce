package spec

import (
	"reflect"
	"slices"
	"strconv"
)

// mend reports the mistyped keys of sections, such as "topolgy", and gives a tree that
// has them under the key that the error suggests, so that what is inside is checked with
// the rest and the section is not missed. Where the suggestion does not fit, because the
// key is there or has another shape, the decoder reports the key.
func (d *decoder) mend(n *node, t reflect.Type, path string) *node {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	mended := *n
	changed := false
	take := func(into **node, from *node, t reflect.Type, path string) {
		if *into = d.mend(from, t, path); *into != from {
			changed = true
		}
	}
	switch {
	case t.Kind() == reflect.Struct && n.kind == mapping:
		mended.entries = slices.Clone(n.entries)
		for i, e := range n.entries {
			f, typed := fieldOf(t, e.key.text)
			if !typed {
				var meant bool
				if f, meant = d.meant(&mended, t, e); !meant {
					continue
				}
				d.unknown(e.key, t, path)
				key := *e.key
				key.text, changed = f.key, true
				mended.entries[i].key = &key
			}
			take(&mended.entries[i].value, e.value, f.typ, join(path, f.key))
		}
	case t.Kind() == reflect.Map && n.kind == mapping:
		mended.entries = slices.Clone(n.entries)
		for i, e := range n.entries {
			take(&mended.entries[i].value, e.value, t.Elem(), join(path, quoteKey(e.key.text)))
		}
	case t.Kind() == reflect.Slice && n.kind == list:
		mended.items = slices.Clone(n.items)
		for i, item := range n.items {
			take(&mended.items[i], item, t.Elem(), join(path, strconv.Itoa(i)))
		}
	}
	if !changed {
		return n
	}
	return &mended
}

// meant is the section that an unknown key of a struct suggests, if it is absent and
// what is there has its shape.
func (d *decoder) meant(n *node, t reflect.Type, e entry) (field, bool) {
	key := nearest(e.key.text, keysOf(t))
	f, ok := fieldOf(t, key)
	if key == "sweep" && t == reflect.TypeFor[Experiment]() {
		f, ok = field{key: key, typ: reflect.TypeFor[map[string]any]()}, true
	}
	return f, ok && n.get(key) == nil && shapeOf(f.typ) != scalar && shapeOf(f.typ) == e.value.kind
}
