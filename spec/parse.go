package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Limits on what is read, so that a hostile file costs little. A lab of 1,000
// nodes and links is about 100 kB and 20,000 tree nodes.
const (
	maxFileBytes = 4 << 20
	maxTreeNodes = 200_000 // with every alias expanded
	maxDepth     = 32
)

// parser turns YAML into a tree: it expands aliases and merge keys, and refuses the parts of YAML
// that an experiment file does not need.
type parser struct {
	file   string
	errs   collector
	budget int
	// open holds the anchors being expanded, to find one that contains itself.
	open map[*yaml.Node]bool
}

// parseYAML reads one document. name is for the errors' places.
func parseYAML(name string, data []byte) (*node, error) {
	p := &parser{file: name, budget: maxTreeNodes, open: map[*yaml.Node]bool{}}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // a byte order mark
	if !p.readable(data) {
		return nil, p.errs.err()
	}
	var document, second yaml.Node
	loader, err := yaml.NewLoader(bytes.NewReader(data), yaml.WithV3Defaults())
	if err != nil {
		return nil, err
	}
	err = loader.Load(&document)
	if errors.Is(err, io.EOF) || err == nil && (document.Kind != yaml.DocumentNode || len(document.Content) == 0) {
		return nil, Errors{{File: name, Line: 1, Column: 1, Problem: "the file is empty", Remedy: `start with "name:" and "topology:"`}}
	}
	if err != nil {
		return nil, p.syntaxError(err)
	}
	if err := loader.Load(&second); err == nil {
		return nil, Errors{{File: name, Line: max(second.Line, 1), Column: max(second.Column, 1), Problem: "a second document begins here", Remedy: `one file is one experiment; put the other one into a file of its own`}}
	} else if !errors.Is(err, io.EOF) {
		return nil, p.syntaxError(err)
	}
	root := p.convert(document.Content[0], 0)
	if err := p.errs.err(); err != nil {
		return nil, err
	}
	return root, nil
}

// readable refuses data that is not text, before the library sees it.
func (p *parser) readable(data []byte) bool {
	if len(data) > maxFileBytes {
		p.errs.add(&Error{File: p.file, Line: 1, Column: 1, Problem: fmt.Sprintf("the file has %d bytes", len(data)), Allowed: fmt.Sprintf("at most %d", maxFileBytes)})
		return false
	}
	line, lineStart := 1, 0
	for i := 0; i < len(data); {
		r, width := utf8.DecodeRune(data[i:])
		problem := ""
		switch {
		case r == utf8.RuneError && width == 1:
			problem = fmt.Sprintf("byte 0x%02x is not UTF-8", data[i])
		case r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0x7f:
			problem = fmt.Sprintf("control character 0x%02x", r)
		}
		if problem != "" {
			column := utf8.RuneCount(data[lineStart:i]) + 1
			p.errs.add(&Error{File: p.file, Line: line, Column: column, Problem: problem, Remedy: "save the file as plain UTF-8 text"})
			return false
		}
		if r == '\n' {
			line, lineStart = line+1, i+1
		}
		i += width
	}
	return true
}

// syntaxError adds the place and a remedy to the library's error.
func (p *parser) syntaxError(err error) error {
	e := &Error{File: p.file, Line: 1, Column: 1, Problem: "not valid YAML: " + err.Error()}
	var load *yaml.LoadError
	if errors.As(err, &load) {
		e.Problem = "not valid YAML: " + load.Message
		// The library counts both from 1; 0 is unknown.
		e.Line, e.Column = max(load.Mark.Line, 1), max(load.Mark.Column, 1)
	}
	switch {
	case strings.Contains(e.Problem, "cannot start any token"):
		e.Remedy = "indent with spaces, not tabs, and quote a value that begins with a special character"
	case strings.Contains(e.Problem, "mapping values are not allowed"):
		e.Remedy = `check the indentation of this line and the one above, and quote a value that contains ": "`
	case strings.Contains(e.Problem, "unknown anchor"):
		e.Remedy = "an alias (*name) needs an anchor (&name) before it"
	case strings.Contains(e.Problem, "end of stream"):
		e.Remedy = "close the quote or bracket that is open"
	case strings.Contains(e.Problem, "did not find expected"):
		e.Remedy = "check the brackets, quotes and indentation here and just above"
	}
	return Errors{e}
}

func (p *parser) fail(n *yaml.Node, problem, remedy string) {
	p.errs.add(&Error{File: p.file, Line: max(n.Line, 1), Column: max(n.Column, 1), Problem: problem, Remedy: remedy})
}

// convert copies a node of the library into the tree.
func (p *parser) convert(n *yaml.Node, depth int) *node {
	out := &node{
		kind: scalar, tag: "!!null", place: place{p.file, max(n.Line, 1), max(n.Column, 1)},
		style: n.Style &^ yaml.TaggedStyle, before: n.HeadComment, beside: n.LineComment, after: n.FootComment,
	}
	if p.errs.full() || p.budget <= 0 {
		return out
	}
	if p.budget--; p.budget == 0 {
		p.fail(n, fmt.Sprintf("the file holds more than %d values, aliases written out", maxTreeNodes), "write a smaller experiment")
		return out
	}
	if depth > maxDepth {
		p.fail(n, fmt.Sprintf("nested more than %d levels deep", maxDepth), "no key of an experiment is that deep")
		return out
	}
	switch n.Kind {
	case yaml.AliasNode:
		if p.open[n.Alias] {
			p.fail(n, fmt.Sprintf("the anchor %q contains itself", clip(n.Value)), "write the value out")
			return out
		}
		p.open[n.Alias] = true
		out = p.convert(n.Alias, depth)
		delete(p.open, n.Alias)
	case yaml.MappingNode:
		p.tagIs(n, "!!map")
		out.kind = mapping
		p.mapping(n, out, depth)
	case yaml.SequenceNode:
		p.tagIs(n, "!!seq")
		out.kind = list
		for _, item := range n.Content {
			out.items = append(out.items, p.convert(item, depth+1))
		}
	case yaml.ScalarNode:
		p.scalar(n, out)
	default:
		p.fail(n, "not a mapping, a list or a value", "")
	}
	return out
}

// tagIs refuses a collection with a tag of its own, such as !!set.
func (p *parser) tagIs(n *yaml.Node, want string) {
	if tag := n.ShortTag(); tag != want {
		p.fail(n, fmt.Sprintf("the YAML tag %s is not used here", clip(tag)), "remove the tag")
	}
}

func (p *parser) scalar(n *yaml.Node, out *node) {
	out.tag, out.text = n.ShortTag(), n.Value
	switch out.tag {
	case "!!str", "!!int", "!!float", "!!bool", "!!null":
	case "!!timestamp", "!!merge": // plain text that looks like one
		out.tag = "!!str"
	default:
		p.fail(n, fmt.Sprintf("the YAML tag %s is not used here", clip(out.tag)), "remove the tag")
	}
	if strings.ContainsRune(n.Value, 0) {
		p.fail(n, "the value contains a NUL byte", "remove it; no value of an experiment can hold one")
	}
}

// mapping fills the entries: first those of merge keys, which the mapping's own then override.
func (p *parser) mapping(n *yaml.Node, out *node, depth int) {
	var merged []entry
	line := map[string]int{}
	for i := 0; i+1 < len(n.Content) && p.budget > 0; i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge" {
			merged = append(merged, p.merge(value, depth)...)
			continue
		}
		if key.Kind != yaml.ScalarNode {
			p.fail(key, "a key must be a single word", "")
			continue
		}
		k := p.convert(key, depth+1)
		if p.budget <= 0 {
			return
		}
		if k.isNull() && key.Value == "" {
			p.fail(key, "a key is empty", "")
			continue
		}
		k.tag = "!!str" // a node may be called 1, or true
		if first, twice := line[k.text]; twice {
			p.fail(n.Content[i], fmt.Sprintf("the key %q is listed twice; first in line %d", clip(k.text), first), "keep one of them")
			continue
		}
		line[k.text] = max(key.Line, 1)
		out.entries = append(out.entries, entry{k, p.convert(value, depth+1)})
	}
	for _, e := range merged {
		if _, own := line[e.key.text]; !own {
			line[e.key.text] = e.key.place.line
			out.entries = append(out.entries, e)
		}
	}
}

// merge returns the entries of a merge key (<<), whose value is a mapping or a list of mappings;
// the first one wins.
func (p *parser) merge(n *yaml.Node, depth int) []entry {
	m := p.convert(n, depth+1)
	switch {
	case m.kind == mapping:
		return m.entries
	case m.kind == list:
		var all []entry
		for _, item := range m.items {
			if item.kind != mapping {
				p.fail(n, "a merge key (<<) takes mappings", "")
				return nil
			}
			all = append(all, item.entries...)
		}
		return all
	}
	p.fail(n, "a merge key (<<) takes a mapping", "")
	return nil
}

// number reads a !!int or !!float scalar.
func (n *node) number() (float64, bool) {
	if n.kind != scalar {
		return 0, false
	}
	text := strings.ReplaceAll(n.text, "_", "")
	switch n.tag {
	case "!!int":
		if v, err := strconv.ParseInt(text, 0, 64); err == nil {
			return float64(v), true
		}
		fallthrough // a decimal number beyond 64 bits
	case "!!float":
		v, err := strconv.ParseFloat(text, 64)
		return v, err == nil && !math.IsInf(v, 0) && !math.IsNaN(v)
	}
	return 0, false
}
