package spec

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Suggestion is a --set as far as it can be told, and what it means.
type Suggestion struct{ Text, Doc string }

// Suggest lists how a --set may go on: with the keys of the next level, each with the dot or the "=" that follows, or
// with the values of a key that takes only some. It needs no valid file: without one (nil) it knows the keys, but no
// names.
func Suggest(f *File, said string) ([]Suggestion, error) {
	s := suggester{}
	if f != nil {
		s.root = f.root
	}
	if path, _, found := strings.Cut(said, "="); found {
		return s.values(path), nil
	}
	comments, err := fieldComments()
	if err != nil {
		return nil, err
	}
	s.comments = comments
	if path, found := strings.CutPrefix(said, "sweep."); found {
		list := s.keys(path)
		for i := range list {
			list[i].Text = "sweep." + list[i].Text
		}
		return list, nil
	}
	list := s.keys(said)
	if !strings.Contains(said, ".") {
		list = append(list,
			Suggestion{"nodes.", "short for topology.nodes"}, Suggestion{"links.", "short for topology.links"},
			Suggestion{"sweep.", "the values of a key to vary"})
		for _, e := range s.cases() {
			list = append(list, Suggestion{e.key.text + "=", "a case of the sweep"})
		}
	}
	return list, nil
}

type suggester struct {
	root     *node
	comments map[string]string
}

// spot is what a path leads to: a type, and the places in the file that have it.
type spot struct {
	typ   reflect.Type
	nodes []*node
}

func (s *suggester) top() spot { return spot{reflect.TypeFor[Experiment](), []*node{s.root}} }

// keys completes the last step of a path.
func (s *suggester) keys(said string) []Suggestion {
	before := said[:strings.LastIndexByte(said, '.')+1]
	at, ok := s.spotOf(strings.TrimSuffix(before, "."))
	if !ok {
		return nil
	}
	var list []Suggestion
	add := func(key string, t reflect.Type, doc string) {
		list = append(list, Suggestion{before + key + ending(t), doc})
	}
	switch t := at.typ; t.Kind() {
	case reflect.Struct:
		for _, f := range fields(t) {
			name := t.Field(f.index).Name
			add(f.key, f.typ, shortComment(s.comments[t.Name()+"."+name], name))
		}
	case reflect.Map, reflect.Slice:
		names := at.names()
		for _, name := range names {
			add(quoteKey(name), t.Elem(), "")
		}
		if t.Elem().Kind() != reflect.String && (len(names) > 1 || s.root == nil) {
			add("*", t.Elem(), "all of them")
		}
	}
	return list
}

// spotOf follows the steps of a path that is whole; an empty one leads to the experiment.
func (s *suggester) spotOf(path string) (spot, bool) {
	at := s.top()
	if path == "" {
		return at, true
	}
	segments, err := splitPath(path)
	if err != nil {
		return spot{}, false
	}
	if first := segments[0].text; first == "links" || first == "nodes" {
		segments = slices.Insert(segments, 0, segment{text: "topology"})
	}
	for _, one := range segments {
		var ok bool
		if at, ok = at.step(one); !ok {
			return spot{}, false
		}
	}
	return at, true
}

func (at spot) step(to segment) (spot, bool) {
	var next spot
	switch at.typ.Kind() {
	case reflect.Struct:
		i := slices.IndexFunc(fields(at.typ), func(f field) bool { return f.key == to.text })
		if i < 0 {
			return next, false
		}
		next.typ = fields(at.typ)[i].typ
		for _, n := range at.nodes {
			next.nodes = append(next.nodes, n.get(to.text))
		}
	case reflect.Map, reflect.Slice:
		next.typ = at.typ.Elem()
		for _, one := range at.entries() {
			if to.wild() || one.name == to.text {
				next.nodes = append(next.nodes, one.value)
			}
		}
	default:
		return next, false
	}
	if next.typ.Kind() == reflect.Pointer {
		next.typ = next.typ.Elem()
	}
	return next, true
}

// namedNode is an entry of a mapping or a list, with the name that a path has for it.
type namedNode struct {
	name  string
	value *node
}

func (at spot) entries() (list []namedNode) {
	for _, n := range at.nodes {
		if n == nil {
			continue
		}
		for _, e := range n.entries {
			list = append(list, namedNode{e.key.text, e.value})
		}
		for i, item := range n.items {
			name := strconv.Itoa(i)
			if at.typ.Elem() == reflect.TypeFor[*Link]() {
				name = linkName(item, i)
			}
			list = append(list, namedNode{name, item})
		}
	}
	return list
}

// names are those of all places, each once.
func (at spot) names() (names []string) {
	for _, one := range at.entries() {
		if !slices.Contains(names, one.name) {
			names = append(names, one.name)
		}
	}
	return names
}

// values lists what a key may be, if that is a few words.
func (s *suggester) values(path string) (list []Suggestion) {
	for _, e := range s.cases() {
		if e.key.text == path {
			for _, name := range namesOf(e.value) {
				list = append(list, Suggestion{path + "=" + name, "a case of the sweep"})
			}
			return list
		}
	}
	at, ok := s.spotOf(path)
	if !ok {
		return nil
	}
	words := enums[at.typ]
	if at.typ.Kind() == reflect.Bool {
		words = []string{"true", "false"}
	}
	docs := map[string]string{}
	for _, text := range docsOf(at.typ) {
		word, doc, _ := strings.Cut(text, ": ")
		docs[word] = doc
	}
	for _, word := range words {
		list = append(list, Suggestion{path + "=" + word, docs[word]})
	}
	return list
}

// cases are the entries of the sweep whose cases have names.
func (s *suggester) cases() (list []entry) {
	if swept := s.root.get("sweep"); swept != nil {
		for _, e := range swept.entries {
			if isCases(e) {
				list = append(list, e)
			}
		}
	}
	return list
}

// ending is what follows a key: a dot before what is below it, or the value.
func ending(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct, reflect.Map:
		return "."
	case reflect.Slice:
		return ending(t.Elem())
	}
	return "="
}

// shortComment is the first sentence of a field's comment, without the field's name.
func shortComment(comment, goName string) string {
	text := strings.Join(strings.Fields(comment), " ")
	text = strings.TrimPrefix(text, goName+" ")
	for _, verb := range []string{"is ", "are "} {
		text = strings.TrimPrefix(text, verb)
	}
	for _, end := range []string{". ", ": ", "; ", " (default"} {
		text, _, _ = strings.Cut(text, end)
	}
	return strings.TrimSuffix(text, ".")
}
