package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
)

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("nines.schema.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("nines.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// asJSON returns a file as an editor's language server sees it: as the YAML library reads it, not
// this package.
func asJSON(t *testing.T, data []byte) any {
	t.Helper()
	var value any
	if err := yaml.Unmarshal(data, &value); err != nil {
		t.Fatal(err)
	}
	document, err := json.Marshal(textKeys(value))
	if err != nil {
		t.Fatal(err)
	}
	again, err := jsonschema.UnmarshalJSON(bytes.NewReader(document))
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// textKeys turns keys such as 1 and true into texts, as JSON has them.
func textKeys(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for key := range v {
			v[key] = textKeys(v[key])
		}
	case map[any]any:
		m := map[string]any{}
		for key, one := range v {
			text, err := json.Marshal(key)
			if err != nil {
				text = []byte("?")
			}
			m[strings.Trim(string(text), `"`)] = textKeys(one)
		}
		return m
	case []any:
		for i := range v {
			v[i] = textKeys(v[i])
		}
	}
	return value
}

func TestSchemaAcceptsValid(t *testing.T) {
	schema := compileSchema(t)
	for _, path := range files(t, "testdata/valid/*.yaml", "../examples/*.yaml", "../examples/*/*.yaml", "../examples/*/quick/*.yaml") {
		if err := schema.Validate(asJSON(t, read(t, path))); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// The schema rejects every file that is wrong in form, and accepts the others: a rule that moves
// between the two shows up here.
func TestSchemaRejectsInvalid(t *testing.T) {
	schema := compileSchema(t)
	for _, wrong := range wrongFiles(t) {
		if wrong.folder == "text" {
			continue
		}
		err := schema.Validate(asJSON(t, wrong.data))
		var invalid *jsonschema.ValidationError
		switch {
		case err != nil && !errors.As(err, &invalid):
			t.Errorf("%s: %v", wrong.name, err)
		case wrong.folder == "meaning" && err != nil:
			t.Errorf("%s is wrong in meaning, and the schema rejects it: %v", wrong.name, err)
		case wrong.folder == "form" && err == nil:
			t.Errorf("%s: the parser rejects its form, and the schema accepts it", wrong.name)
		}
	}
}

// Every key has a description, for the editor that shows it.
func TestSchemaDescribes(t *testing.T) {
	comments, err := fieldComments()
	if err != nil {
		t.Fatal(err)
	}
	for _, structure := range structures() {
		for i := range structure.NumField() {
			name := structure.Name() + "." + structure.Field(i).Name
			if strings.TrimSpace(comments[name]) == "" {
				t.Errorf("%s has no comment", name)
			}
		}
	}
}

// Each rule belongs to a key: a rule for a misspelt key would have no effect.
func TestRulesHaveKeys(t *testing.T) {
	known := map[string]bool{}
	for _, structure := range structures() {
		for _, f := range fields(structure) {
			known[structure.Name()+"."+f.key] = true
		}
	}
	for name := range rules {
		if !known[name] {
			t.Errorf("the rule %s is for no key", name)
		}
	}
}

// structures lists the struct types that a file is made of.
func structures() []reflect.Type {
	var all []reflect.Type
	seen := map[reflect.Type]bool{}
	var walk func(reflect.Type)
	walk = func(t reflect.Type) {
		switch t.Kind() {
		case reflect.Pointer, reflect.Slice, reflect.Map:
			walk(t.Elem())
		case reflect.Struct:
			if seen[t] {
				return
			}
			seen[t] = true
			all = append(all, t)
			for i := range t.NumField() {
				walk(t.Field(i).Type)
			}
		}
	}
	walk(reflect.TypeFor[Experiment]())
	return all
}
