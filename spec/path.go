package spec

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"nines.dev/nines/terminal"
)

// segment is one step of a path, as a user writes it.
type segment struct {
	text   string
	quoted bool
}

func (s segment) wild() bool { return s.text == "*" && !s.quoted }

// splitPath reads "links.*.kind"; a step that contains a dot is quoted:
// nodes.dut.addresses."eth0.1".0.
func splitPath(path string) ([]segment, error) {
	var segments []segment
	for rest := path; ; {
		var s segment
		if strings.HasPrefix(rest, `"`) {
			end := strings.IndexByte(rest[1:], '"')
			if end < 0 {
				return nil, fmt.Errorf("a quote is not closed")
			}
			s, rest = segment{rest[1 : 1+end], true}, rest[end+2:]
			if rest != "" && !strings.HasPrefix(rest, ".") {
				return nil, fmt.Errorf("a dot is missing after the closing quote")
			}
		} else {
			end := strings.IndexByte(rest, '.')
			if end < 0 {
				end = len(rest)
			}
			s, rest = segment{rest[:end], false}, rest[end:]
		}
		if s.text == "" {
			return nil, fmt.Errorf("a step of the path is empty")
		}
		segments = append(segments, s)
		if rest == "" {
			return segments, nil
		}
		rest = rest[1:]
	}
}

// quoteKey writes a key so that splitPath reads it as one step.
func quoteKey(key string) string {
	if strings.ContainsAny(key, ".\"") || key == "*" || key == "" {
		return `"` + key + `"`
	}
	return key
}

// quotedPath joins steps as a user writes them.
func quotedPath(steps []string) string {
	path := ""
	for _, step := range steps {
		path = join(path, quoteKey(step))
	}
	return path
}

// target is what a path names: one type, at one place or, with "*", at several.
type target struct {
	typ  reflect.Type
	rule rule
	// places are the concrete steps from the root of the file.
	places [][]string
	// adds is set if the place is a node that is not in the file yet.
	adds bool
}

// shortRoots are keys of topology that a path may begin with.
var shortRoots = []string{"links", "nodes"}

// pathError is a path that names nothing; the caller adds the path's place.
type pathError struct{ problem, allowed, remedy string }

// resolve finds what a path names in the file. "links" and "nodes" are short for
// topology.links and topology.nodes.
func resolve(root *node, path string) (target, *pathError) {
	segments, err := splitPath(path)
	if err != nil {
		return target{}, &pathError{problem: err.Error(), allowed: "keys joined by dots, such as traffic.rate_pps or links.*.kind"}
	}
	if slices.Contains(shortRoots, segments[0].text) {
		segments = append([]segment{{text: "topology"}}, segments...)
	}
	w := &walker{}
	if e := w.types(reflect.TypeFor[Experiment](), segments); e != nil {
		return target{}, e
	}
	if e := w.walk(reflect.TypeFor[Experiment](), root, segments, nil, false); e != nil {
		return target{}, e
	}
	if len(w.found.places) == 0 {
		return target{}, &pathError{problem: "matches nothing in the file"}
	}
	return w.found, nil
}

type walker struct{ found target }

// types follows the path through the types alone, to find a mistyped key.
func (w *walker) types(t reflect.Type, segments []segment) *pathError {
	w.found.typ = t
	if len(segments) == 0 {
		return nil
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	step, rest := segments[0], segments[1:]
	switch t.Kind() {
	case reflect.Struct:
		for _, f := range fields(t) {
			if f.key == step.text {
				w.found.rule = f.rule
				return w.types(f.typ, rest)
			}
		}
		keys := keysOf(t)
		if t == reflect.TypeFor[Experiment]() {
			keys = append(slices.Clone(shortRoots), keys...)
		}
		return &pathError{problem: fmt.Sprintf("unknown key %q", clip(step.text)), allowed: terminal.Listed(keys), remedy: terminal.DidYouMean(step.text, keys)}
	case reflect.Map:
		w.found.rule = rule{asWritten: w.found.rule.asWritten}
		if t.Elem().Kind() == reflect.String { // the rest is one key: sysctls.net.ipv4.ip_forward
			rest = nil
		}
		return w.types(t.Elem(), rest)
	case reflect.Slice:
		w.found.rule.required = false
		return w.types(t.Elem(), rest)
	default:
		return &pathError{problem: fmt.Sprintf("there is nothing below a single value, and so no %q", clip(step.text))}
	}
}

// walk finds the places. After a "*" a path matches only where the enclosing structure exists, so
// that nodes.*.app.wait reaches the nodes that have an app; nodes.*.env.X reaches all.
func (w *walker) walk(t reflect.Type, n *node, segments []segment, steps []string, wild bool) *pathError {
	if len(segments) == 0 {
		w.found.places = append(w.found.places, append([]string(nil), steps...))
		return nil
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if n == nil && wild && t.Kind() == reflect.Struct {
		return nil
	}
	if t == reflect.TypeFor[Goal]() && n != nil && n.kind == scalar {
		return &pathError{problem: fmt.Sprintf("the goal %q is a preset by its name alone", clip(n.text)), remedy: fmt.Sprintf("write {name: %s} in the file first", clip(n.text))}
	}
	step, rest := segments[0], segments[1:]
	switch t.Kind() {
	case reflect.Struct:
		for _, f := range fields(t) {
			if f.key == step.text {
				return w.walk(f.typ, n.get(f.key), rest, append(steps, f.key), wild)
			}
		}
	case reflect.Map:
		return w.walkMap(t, n, segments, steps, wild)
	case reflect.Slice:
		return w.walkList(t, n, step, rest, steps, wild)
	}
	return nil
}

func (w *walker) walkMap(t reflect.Type, n *node, segments []segment, steps []string, wild bool) *pathError {
	step, rest := segments[0], segments[1:]
	if step.wild() {
		if n == nil {
			return nil
		}
		for _, e := range n.entries {
			if err := w.walk(t.Elem(), e.value, rest, append(steps, e.key.text), true); err != nil {
				return err
			}
		}
		return nil
	}
	key := step.text
	if t.Elem().Kind() == reflect.String {
		texts := make([]string, len(segments))
		for i, s := range segments {
			texts[i] = s.text
		}
		key, rest = strings.Join(texts, "."), nil
	}
	value := n.get(key)
	if value == nil && t.Elem() == reflect.TypeFor[*Node]() {
		names := namesOf(n)
		if w.found.adds = len(rest) == 0; w.found.adds {
			w.found.places = append(w.found.places, under(steps, key))
			return nil // a whole node
		}
		return &pathError{fmt.Sprintf("node %q does not exist", clip(key)), listed(names), terminal.DidYouMean(key, names)}
	}
	return w.walk(t.Elem(), value, rest, append(steps, key), wild)
}

// namesOf lists the keys of a mapping.
func namesOf(n *node) (names []string) {
	if n == nil {
		return nil
	}
	for _, e := range n.entries {
		names = append(names, e.key.text)
	}
	return names
}

func (w *walker) walkList(t reflect.Type, n *node, step segment, rest []segment, steps []string, wild bool) *pathError {
	if n == nil || n.kind != list {
		if step.wild() {
			return nil
		}
		return &pathError{problem: "the list is not in the file", remedy: "write the list first"}
	}
	var names []string
	chosen := -1
	for i, item := range n.items {
		name := strconv.Itoa(i)
		if t.Elem() == reflect.TypeFor[*Link]() {
			name = linkName(item, i)
		}
		names = append(names, name)
		if step.wild() {
			if err := w.walk(t.Elem(), item, rest, append(steps, strconv.Itoa(i)), true); err != nil {
				return err
			}
		} else if chosen < 0 && (name == step.text || strconv.Itoa(i) == step.text) {
			chosen = i
		}
	}
	if step.wild() {
		return nil
	}
	if chosen < 0 {
		return &pathError{fmt.Sprintf("entry %q does not exist", clip(step.text)), fmt.Sprintf("%s, or * for all; positions count from 0", terminal.Listed(names)), terminal.DidYouMean(step.text, names)}
	}
	return w.walk(t.Elem(), n.items[chosen], rest, append(steps, strconv.Itoa(chosen)), wild)
}

// linkName is the name of the i-th link, by default link1, link2, ….
func linkName(link *node, i int) string {
	if name := link.get("name"); name != nil && name.kind == scalar && !name.isNull() {
		return name.text
	}
	return defaultLinkName(i)
}

func defaultLinkName(i int) string { return "link" + strconv.Itoa(i+1) }

// overlap reports whether two places are the same, or one encloses the other.
func overlap(a, b []string) bool {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// claims remembers which key of a sweep sets which place.
type claims struct{ places, enclosing map[string]string }

// claim notes that the path sets the places, and returns an earlier path that sets one of them too,
// or a value around or inside it.
func (c *claims) claim(path string, places [][]string) (other string) {
	if c.places == nil {
		c.places, c.enclosing = map[string]string{}, map[string]string{}
	}
	keys := make([][]string, len(places))
	for i, steps := range places {
		key := ""
		for _, step := range steps {
			key += "\x00" + step // no key contains a NUL
			keys[i] = append(keys[i], key)
			if owner, taken := c.places[key]; taken {
				other = owner
			}
		}
		if owner, inside := c.enclosing[key]; inside {
			other = owner
		}
	}
	for _, around := range keys {
		for _, key := range around {
			c.enclosing[key] = path
		}
		c.places[around[len(around)-1]] = path
	}
	return other
}
