package result

import (
	"embed"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
	"time"
)

// sources are the files whose comments become the schema's descriptions.
//
//go:embed interruptions.go summary.go scripts.go seen.go streams.go
var sources embed.FS

// node is the part of JSON Schema (draft 2020-12) that is used here.
type node struct {
	Schema      string           `json:"$schema,omitempty"`
	Title       string           `json:"title,omitempty"`
	Description string           `json:"description,omitempty"`
	Ref         string           `json:"$ref,omitempty"`
	Const       string           `json:"const,omitempty"`
	Type        any              `json:"type,omitempty"`
	Format      string           `json:"format,omitempty"`
	Enum        []Verdict        `json:"enum,omitempty"`
	Minimum     *int             `json:"minimum,omitempty"`
	Items       *node            `json:"items,omitempty"`
	Required    []string         `json:"required,omitempty"`
	Properties  map[string]*node `json:"properties,omitempty"`
	Defs        map[string]*node `json:"$defs,omitempty"`
}

// SummarySchema is the JSON Schema of summary.json, made from the types and their comments. It allows keys that it does
// not know, as readers should.
func SummarySchema() ([]byte, error) {
	comments, err := comments()
	if err != nil {
		return nil, err
	}
	s := schemer{comments: comments, defs: map[string]*node{}}
	root := s.structure(reflect.TypeFor[Summary]())
	root.Schema, root.Title = "https://json-schema.org/draft/2020-12/schema", "nines result: summary.json"
	root.Properties["schema"].Const = Schema
	root.Defs = s.defs
	text, err := json.MarshalIndent(root, "", "  ")
	return append(text, '\n'), err
}

type schemer struct {
	comments map[string]string
	defs     map[string]*node
}

// structure describes a struct's keys. Those without omitempty are always there.
func (s *schemer) structure(t reflect.Type) *node {
	out := &node{Type: "object", Description: s.comments[t.Name()], Properties: map[string]*node{}}
	for _, f := range reflect.VisibleFields(t) {
		key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		value := s.value(f.Type)
		if text := s.comments[t.Name()+"."+f.Name]; text != "" {
			value.Description = strings.Replace(text, f.Name, key, 1)
		}
		out.Properties[key] = value
		if options != "omitempty" {
			out.Required = append(out.Required, key)
		}
	}
	return out
}

func (s *schemer) value(t reflect.Type) *node {
	switch t {
	case reflect.TypeFor[time.Time]():
		return &node{Type: "string", Format: "date-time"}
	case reflect.TypeFor[Verdict]():
		return &node{Enum: []Verdict{Clean, Noisy, Invalid}}
	}
	switch t.Kind() {
	case reflect.Pointer:
		of := s.value(t.Elem())
		if of.Ref != "" {
			return of // left out where there is none
		}
		of.Type = []any{of.Type, "null"}
		return of
	case reflect.Slice:
		return &node{Type: "array", Items: s.value(t.Elem())}
	case reflect.Struct:
		if s.defs[t.Name()] == nil {
			s.defs[t.Name()] = &node{} // there, for types that refer to themselves
			s.defs[t.Name()] = s.structure(t)
		}
		return &node{Ref: "#/$defs/" + t.Name()}
	case reflect.Map:
		return &node{Type: "object"}
	case reflect.Bool:
		return &node{Type: "boolean"}
	case reflect.Float64:
		return &node{Type: "number"}
	case reflect.Uint64:
		return &node{Type: "integer", Minimum: new(int)}
	case reflect.Int, reflect.Int64:
		return &node{Type: "integer"}
	}
	return &node{Type: "string"}
}

// comments reads the comments of the types ("Trial") and of their fields ("Trial.Repeat") from the sources in the
// binary.
func comments() (map[string]string, error) {
	found := map[string]string{}
	entries, err := sources.ReadDir(".")
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		text, err := sources.ReadFile(e.Name())
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(token.NewFileSet(), e.Name(), text, parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("reading the comments of %s: %w", e.Name(), err)
		}
		for _, declared := range file.Decls {
			one, ok := declared.(*ast.GenDecl)
			if !ok || one.Tok != token.TYPE {
				continue
			}
			for _, spec := range one.Specs {
				typeComments(spec.(*ast.TypeSpec), one.Doc.Text(), found)
			}
		}
	}
	return found, nil
}

func typeComments(t *ast.TypeSpec, doc string, to map[string]string) {
	structure, ok := t.Type.(*ast.StructType)
	if !ok {
		return
	}
	to[t.Name.Name] = oneParagraph(doc)
	for _, f := range structure.Fields.List {
		for _, name := range f.Names {
			to[t.Name.Name+"."+name.Name] = oneParagraph(f.Doc.Text() + f.Comment.Text())
		}
	}
}

func oneParagraph(text string) string { return strings.Join(strings.Fields(text), " ") }
