package spec

import (
	"embed"
	"encoding/json"
	"fmt"
	"go/ast"
	goparser "go/parser"
	"go/token"
	"reflect"
	"strings"
)

// sources are the files whose comments become the schema's descriptions.
//
//go:embed allow.go cluster.go disturb.go dpdk.go duet.go event.go experiment.go hardware.go image_recipe.go impair.go isolation.go link.go management.go method.go node.go power.go published.go receive.go restart.go script.go service.go switch.go trace.go traffic.go
var sources embed.FS

// schemaNode is the part of JSON Schema (draft 2020-12) that is used here.
type schemaNode struct {
	Schema               string        `json:"$schema,omitempty"`
	Title                string        `json:"title,omitempty"`
	Ref                  string        `json:"$ref,omitempty"`
	Description          string        `json:"description,omitempty"`
	Type                 any           `json:"type,omitempty"`
	AnyOf                []*schemaNode `json:"anyOf,omitempty"`
	Enum                 []string      `json:"enum,omitempty"`
	Pattern              string        `json:"pattern,omitempty"`
	Minimum              *float64      `json:"minimum,omitempty"`
	Maximum              *float64      `json:"maximum,omitempty"`
	Default              any           `json:"default,omitempty"`
	Items                *schemaNode   `json:"items,omitempty"`
	MinItems             int           `json:"minItems,omitempty"`
	MinProperties        int           `json:"minProperties,omitempty"`
	PropertyNames        *schemaNode   `json:"propertyNames,omitempty"`
	PatternProperties    namedSchemas  `json:"patternProperties,omitempty"`
	Required             []string      `json:"required,omitempty"`
	Properties           namedSchemas  `json:"properties,omitempty"`
	AdditionalProperties any           `json:"additionalProperties,omitempty"`
	Examples             []any         `json:"examples,omitempty"`
	Defs                 namedSchemas  `json:"$defs,omitempty"`
}

// namedSchemas is a JSON object that keeps the order of the types.
type namedSchemas []namedSchema

type namedSchema struct {
	name   string
	schema *schemaNode
}

// MarshalJSON writes the object in order.
func (n namedSchemas) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, one := range n {
		if i > 0 {
			out = append(out, ',')
		}
		name, err := json.Marshal(one.name)
		if err != nil {
			return nil, err
		}
		body, err := json.Marshal(one.schema)
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, name...), ':'), body...)
	}
	return append(out, '}'), nil
}

// Schema is the JSON Schema of the experiment file, made from the types, their comments and the
// rules. It checks the form of each value; only Runs checks what depends on other values, such as
// an endpoint that must exist.
func Schema() ([]byte, error) {
	comments, err := fieldComments()
	if err != nil {
		return nil, err
	}
	s := &schemer{comments: comments, done: map[string]bool{}}
	root := s.structure(reflect.TypeFor[Experiment]())
	root.PatternProperties = namedSchemas{{"^" + ownKeys, &schemaNode{Description: "A key of your own, which nines does not read: a place for anchors."}}}
	root.Schema = "https://json-schema.org/draft/2020-12/schema"
	root.Title = "nines experiment"
	root.Description = "A network of nodes and links, the traffic that is measured in it, and what to vary."
	root.Properties = append(root.Properties, namedSchema{"sweep", sweepSchema()})
	root.Defs = s.defs
	text, err := json.MarshalIndent(root, "", "  ")
	return append(text, '\n'), err
}

func sweepSchema() *schemaNode {
	return &schemaNode{
		Description:       "The keys to vary, each with its values; the runs are the cross product, the first key the outermost loop. * in a key stands for all.",
		Type:              "object",
		PatternProperties: namedSchemas{{sweptPattern, &schemaNode{Type: "array", MinItems: 1}}},
		PropertyNames:     &schemaNode{Pattern: sweptPattern + "|" + axisPattern},
		AdditionalProperties: &schemaNode{
			Description: "A name of your own, whose cases each set several keys together.",
			Type:        "object", MinProperties: 1, PropertyNames: &schemaNode{Pattern: casePattern},
			AdditionalProperties: &schemaNode{Type: []string{"object", "null"}, PropertyNames: &schemaNode{Pattern: sweptPattern}},
		},
		Examples: []any{map[string]any{"links.*.kind": []string{"bridge", "veth"}, "traffic.rate_pps": []int{1000, 10000}}},
	}
}

func sideSchema() *schemaNode {
	return &schemaNode{
		Description:   "What is different on this side: keys of nodes, links and traffic with values, as in a case of the sweep; empty is the file as it is.",
		Type:          []string{"object", "null"},
		PropertyNames: &schemaNode{Pattern: sidePattern},
		Examples:      []any{map[string]any{"links.*.kind": "veth"}},
	}
}

type schemer struct {
	comments map[string]string
	defs     namedSchemas
	done     map[string]bool
}

// structure describes a struct's keys.
func (s *schemer) structure(t reflect.Type) *schemaNode {
	out := &schemaNode{Type: "object", Description: s.comments[t.Name()], AdditionalProperties: false}
	for _, f := range fields(t) {
		child := s.value(f.typ, f.rule)
		goName := t.Field(f.index).Name
		child.Description = describeKey(s.comments[t.Name()+"."+goName], goName, f)
		if f.rule.byDefault != "" {
			child.Default = literal(f.rule.byDefault, f.typ).plain()
		}
		if f.rule.required {
			out.Required = append(out.Required, f.key)
		}
		out.Properties = append(out.Properties, namedSchema{f.key, child})
	}
	if t == reflect.TypeFor[Duet]() {
		out.Properties = append(out.Properties, namedSchema{SideA, sideSchema()}, namedSchema{SideB, sideSchema()})
		out.Required = append(out.Required, SideA, SideB)
	}
	return out
}

// describeKey is the field's comment with the key's name and bounds, for a reader of YAML.
func describeKey(comment, goName string, f field) string {
	comment = strings.TrimSpace(strings.Join(strings.Fields(comment), " "))
	if rest, ok := strings.CutPrefix(comment, goName+" "); ok {
		comment = f.key + " " + rest
	}
	if docs := docsOf(f.typ); docs != nil {
		comment += " " + strings.Join(docs, "; ") + "."
	}
	if b := bounds(f.rule); b != "" && !strings.Contains(comment, b) {
		comment += " From " + b + "."
	}
	return comment
}

// docsOf describes each value of a type that has descriptors.
func docsOf(t reflect.Type) (docs []string) {
	switch t {
	case reflect.TypeFor[Runtime]():
		for _, d := range runtimes {
			docs = append(docs, string(d.Name)+": "+d.Doc)
		}
	case reflect.TypeFor[LinkKind]():
		for _, d := range linkKinds {
			docs = append(docs, string(d.Kind)+": "+d.Doc)
		}
	case reflect.TypeFor[MethodKind]():
		for _, d := range methods {
			docs = append(docs, string(d.Kind)+": "+d.Doc)
		}
	case reflect.TypeFor[AppKind]():
		for _, d := range apps {
			docs = append(docs, string(d.Kind)+": "+d.Doc)
		}
	}
	return docs
}

func (s *schemer) value(t reflect.Type, r rule) *schemaNode {
	switch {
	case t == reflect.TypeFor[*Goal](): // a preset's name alone is enough
		return &schemaNode{AnyOf: []*schemaNode{s.reference(t), {Type: "string", Enum: goalPresets}}}
	case t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct, t.Kind() == reflect.Struct:
		return s.reference(t)
	case t.Kind() == reflect.Pointer:
		return s.value(t.Elem(), r)
	case t.Kind() == reflect.Map:
		return s.dictionary(t, r)
	case t.Kind() == reflect.Slice:
		out := &schemaNode{Type: "array", Items: s.value(t.Elem(), r)}
		if t.Elem().Kind() != reflect.Slice {
			out.MinItems = r.minItems
		}
		if r.orOne {
			return &schemaNode{AnyOf: []*schemaNode{out, out.Items}}
		}
		return out
	}
	return scalarSchema(t, r)
}

// reference puts a struct among the definitions and refers to it.
func (s *schemer) reference(t reflect.Type) *schemaNode {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	name := strings.ToLower(t.Name())
	if !s.done[name] {
		s.done[name] = true
		s.defs = append(s.defs, namedSchema{name, nil})
		at := len(s.defs) - 1
		s.defs[at].schema = s.structure(t)
	}
	return &schemaNode{Ref: "#/$defs/" + name}
}

func (s *schemer) dictionary(t reflect.Type, r rule) *schemaNode {
	element := s.value(t.Elem(), rule{asWritten: r.asWritten})
	if t.Elem() == reflect.TypeFor[*Node]() { // "dut:" is a node with every default
		element = &schemaNode{AnyOf: []*schemaNode{element, {Type: "null"}}}
	}
	return &schemaNode{
		Type: "object", MinProperties: r.minItems, AdditionalProperties: element,
		PropertyNames: &schemaNode{Pattern: r.keys.pattern},
	}
}

func scalarSchema(t reflect.Type, r rule) *schemaNode {
	if u := unitOf(t); u != nil {
		return &schemaNode{Type: "string", Pattern: u.pattern}
	}
	out := &schemaNode{}
	switch t.Kind() {
	case reflect.String:
		out.Type, out.Pattern, out.Enum = "string", r.pattern, enums[t]
		if r.asWritten && r.pattern != "" {
			out.Type = []string{"string", "integer"}
		} else if r.asWritten {
			out.Type = []string{"string", "number", "boolean"}
		}
	case reflect.Bool:
		out.Type = "boolean"
	case reflect.Int, reflect.Float64:
		out.Type = "integer"
		if t.Kind() == reflect.Float64 {
			out.Type = "number"
		}
		out.Minimum, out.Maximum = limit(r.least), limit(r.most)
		if r.packetRate {
			return &schemaNode{AnyOf: []*schemaNode{out, {Type: "string", Pattern: packetRatePattern}}}
		}
	default:
		panic("spec: no schema for " + t.String())
	}
	return out
}

func limit(text string) *float64 {
	if text == "" {
		return nil
	}
	f := bound(text, reflect.TypeFor[float64]())
	return &f
}

// fieldComments reads the comments of the types ("Traffic") and of their fields
// ("Traffic.RatePPS") from the sources in the binary.
func fieldComments() (map[string]string, error) {
	comments := map[string]string{}
	entries, err := sources.ReadDir(".")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		text, err := sources.ReadFile(e.Name())
		if err != nil {
			return nil, err
		}
		file, err := goparser.ParseFile(token.NewFileSet(), e.Name(), text, goparser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("reading the comments of %s: %w", e.Name(), err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			decl, ok := n.(*ast.GenDecl)
			if !ok || decl.Tok != token.TYPE {
				return true
			}
			for _, one := range decl.Specs {
				typeComments(one.(*ast.TypeSpec), decl.Doc.Text(), comments)
			}
			return false
		})
	}
	return comments, nil
}

func typeComments(t *ast.TypeSpec, doc string, comments map[string]string) {
	structure, ok := t.Type.(*ast.StructType)
	if !ok {
		return
	}
	comments[t.Name.Name] = strings.Join(strings.Fields(doc), " ")
	for _, f := range structure.Fields.List {
		for _, name := range f.Names {
			comments[t.Name.Name+"."+name.Name] = f.Doc.Text()
		}
	}
}
