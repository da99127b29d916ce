package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"nines.dev/nines/terminal"
)

// File is an experiment file that has been read, but not yet checked: Set may
// still change it. Runs and Experiment check all of it. A File is not safe for
// concurrent use.
type File struct {
	name string
	raw  []byte
	root *node
	sets []string
	// scripts are the texts of script files; nil: their files are read.
	scripts ScriptTexts
	// origin is the file that this one is a copy of; empty: it is none.
	origin string
}

// Stdin is the path that stands for standard input.
const Stdin = "-"

// LoadFile reads a file, or standard input. An error of the system is wrapped; an error in the
// file's YAML is an Errors.
func LoadFile(path string) (*File, error) {
	f, name := os.Stdin, "standard input"
	if path != Stdin {
		var err error
		if f, err = os.Open(path); err != nil {
			return nil, unreadable(path, err)
		}
		defer func() { _ = f.Close() }() // read only: nothing can be lost
		name = path
	}
	// One byte more than allowed is enough for Load to refuse the file as too large.
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, unreadable(name, err)
	}
	return Load(name, data)
}

func unreadable(name string, err error) error {
	return &Error{File: name, Problem: "cannot be read: " + systemReason(err), Remedy: "give the path of an experiment file"}
}

// ownKeys begin the keys of a file that are the writer's own: a place for anchors, as in Docker Compose.
const ownKeys = "x-"

// Load reads the bytes of a file; name appears in the errors' places.
func Load(name string, data []byte) (*File, error) {
	root, err := parseYAML(name, data)
	if tool := foreign(name, data, root); tool != nil {
		return nil, Errors{tool.refusal(name)}
	}
	if err != nil {
		return nil, err
	}
	if root.kind != mapping {
		return nil, Errors{{
			File: name, Line: root.place.line, Column: root.place.column,
			Problem: "an experiment is a mapping, and this is " + root.kind.String(),
			Allowed: terminal.Listed(keysOf(reflect.TypeFor[Experiment]())),
		}}
	}
	root.entries = slices.DeleteFunc(root.entries, func(e entry) bool { return strings.HasPrefix(e.key.text, ownKeys) })
	return &File{name: name, raw: bytes.Clone(data), root: root}, nil
}

// Name is the name under which the file was loaded.
func (f *File) Name() string { return f.name }

// Raw is the file as the user wrote it, byte for byte.
func (f *File) Raw() []byte { return bytes.Clone(f.raw) }

// Set changes one key, as --set does: "traffic.rate_pps=1000", "links.*.kind=veth",
// "nodes.dut.cpus=2", "sweep.traffic.burst=[1, 16]". The value is YAML; an empty one removes the
// key. A key that the sweep varies becomes fixed: it leaves the sweep.
func (f *File) Set(expression string) error {
	path, text, found := strings.Cut(expression, "=")
	where := "--set " + expression
	if !found || path == "" {
		return &Error{File: where, Problem: "has no value", Remedy: "write --set key=value, such as --set traffic.rate_pps=1000"}
	}
	if path == "sweep" || strings.HasPrefix(path, "sweep.") {
		return f.setSweep(where, path, text)
	}
	if found, err := f.setDuetSide(where, path, text); found || err != nil {
		return err
	}
	if found, err := f.setCase(where, path, text); found || err != nil {
		return err
	}
	goal, wrong := resolve(f.root, path)
	if wrong != nil {
		return &Error{File: where, Path: path, Problem: wrong.problem, Allowed: wrong.allowed, Remedy: wrong.remedy}
	}
	value, err := setValue(where, text, goal.typ)
	if err != nil {
		return err
	}
	if goal.adds && value == nil {
		return &Error{File: where, Path: path, Problem: "the node to remove does not exist", Allowed: listed(namesOf(f.root.get("topology").get("nodes")))}
	}
	root, err := f.withoutSwept(where, path, goal)
	if err != nil {
		return err
	}
	for _, steps := range goal.places {
		root = root.with(steps, value)
	}
	f.root, f.sets = root, append(f.sets, expression)
	return nil
}

// setSweep changes the sweep or one of its keys, whose dots belong to the key.
func (f *File) setSweep(where, path, text string) error {
	value, err := setValue(where, text, reflect.TypeFor[map[string]any]())
	if err != nil {
		return err
	}
	steps := []string{"sweep"}
	if key, ok := strings.CutPrefix(path, "sweep."); ok {
		steps = append(steps, f.sweepSteps(key)...)
		if swept := f.root.get("sweep"); swept != nil && swept.kind != mapping && !swept.isNull() {
			return &Error{File: where, Path: path, Problem: "the file's sweep is not a mapping"}
		}
	}
	f.root, f.sets = f.root.with(steps, value), append(f.sets, strings.TrimPrefix(where, "--set "))
	return nil
}

// setValue reads the right side of a --set; nil stands for an empty one. Text that is not a single
// YAML value is taken literally where the key is a text.
func setValue(where, text string, t reflect.Type) (*node, error) {
	if text == "" {
		return nil, nil
	}
	value, err := parseYAML(where, []byte(text))
	readable := (&parser{file: where}).readable([]byte(text))
	if t.Kind() == reflect.String && readable && (err != nil || value.kind != scalar) {
		value, err = &node{kind: scalar, tag: "!!str", text: text}, nil
	}
	if err != nil {
		var several Errors
		if errors.As(err, &several) {
			for _, e := range several {
				e.Line, e.Column = 0, 0
			}
		}
		return nil, err
	}
	if value.isNull() {
		return nil, nil
	}
	return value.placed(place{file: where}), nil
}

// placed gives the tree one place for all its nodes.
func (n *node) placed(p place) *node {
	moved := *n
	moved.place = p
	moved.entries, moved.items = nil, nil
	for _, e := range n.entries {
		moved.entries = append(moved.entries, entry{e.key.placed(p), e.value.placed(p)})
	}
	for _, item := range n.items {
		moved.items = append(moved.items, item.placed(p))
	}
	return &moved
}

// withoutSwept removes from the sweep the key that is being set, as the sweep would overwrite it.
func (f *File) withoutSwept(where, path string, goal target) (*node, error) {
	root := f.root
	swept := root.get("sweep")
	if swept == nil || swept.kind != mapping {
		return root, nil
	}
	for _, e := range swept.entries {
		keys := []keyAt{{e.key.text, []string{"sweep", e.key.text}}}
		if isCases(e) {
			keys = caseKeys(e)
		}
		for _, key := range keys {
			switch f.meets(key.path, goal) {
			case covered:
				root = root.with(key.steps, nil)
			case touched:
				return nil, &Error{
					File: where, Path: path,
					Problem: fmt.Sprintf("the sweep's %q would overwrite this", clip(key.path)),
					Remedy:  fmt.Sprintf("set %s itself, or take it out of the sweep: --set 'sweep.%s='", key.path, e.key.text),
				}
			}
		}
		root = withoutEmptyCases(root, e)
	}
	if left := root.get("sweep"); len(left.entries) == 0 {
		root = root.with([]string{"sweep"}, nil)
	}
	return root, nil
}

// keyAt is a path that the sweep sets, and its place in the file.
type keyAt struct {
	path  string
	steps []string
}

// meeting is how the places of a swept path overlap those that a --set sets.
type meeting int

const (
	apart   meeting = iota
	covered         // every one is set
	touched         // some are, or parts of them
)

func (f *File) meets(path string, goal target) meeting {
	axis, wrong := resolve(f.root, path)
	if wrong != nil {
		return apart // Runs reports it
	}
	inside, any := 0, false
	for _, a := range axis.places {
		within := false
		for _, g := range goal.places {
			any = any || overlap(a, g)
			within = within || len(g) <= len(a) && overlap(a, g)
		}
		if within {
			inside++
		}
	}
	switch {
	case inside == len(axis.places):
		return covered
	case any:
		return touched
	}
	return apart
}

// Effective is the file with every Set applied; without any it is Raw.
func (f *File) Effective() ([]byte, error) {
	if len(f.sets) == 0 {
		return f.Raw(), nil
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "# %s, changed by:\n", strings.ReplaceAll(f.name, "\n", " "))
	for _, set := range f.sets {
		fmt.Fprintf(&out, "#   --set %q\n", set)
	}
	body, err := marshalNode(f.root)
	if err != nil {
		return nil, fmt.Errorf("writing %s with its changes: %w", f.name, err)
	}
	out.Write(body)
	return out.Bytes(), nil
}

func marshalNode(n *node) ([]byte, error) { return yaml.Dump(n.yaml(), yaml.WithIndent(2)) }

// systemReason is the system's reason without the path, which the error's place already names.
func systemReason(err error) string {
	var pathErr *os.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err.Error()
	}
	return err.Error()
}
