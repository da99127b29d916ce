package result

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"slices"

	"go.yaml.in/yaml/v4"
)

// hiding are the keys whose values are hidden, wherever they are: a node's env, and variables of
// scripts.
var hiding = []string{"env", "variables"}

// hidden stands for a value of a node's env or of a variable, which may be a password. What is made to be passed on,
// such as the page, has the names of these variables only; the folder's own files have the values,
// and then only their owner can read them.
const hidden = "(not shown)"

// The modes of a result's files, which the caller's umask may lessen.
const (
	forEveryone fs.FileMode = 0o644
	// ownerOnly is of what may hold secrets.
	ownerOnly fs.FileMode = 0o600
)

// holdsSecrets is true if an experiment file has values of env or variables.
func holdsSecrets(text []byte) bool { return withoutSecrets(text) != string(text) }

// readByEveryone is false if the experiment's author lets only some read the file: its copy must not tell others more.
func readByEveryone(path string) bool {
	info, err := os.Stat(path)
	return err != nil || info.Mode()&0o004 != 0
}

// withoutSecrets hides the values of env and variables in an experiment file. A text without any stays as
// it is, byte for byte.
func withoutSecrets(text []byte) string {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return string(text) // no experiment, so nothing of it was run
	}
	h := hider{seen: map[*yaml.Node]bool{}}
	h.search(&document)
	if !h.found {
		return string(text)
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(&document); err != nil {
		return ""
	}
	return out.String()
}

// hider hides values in a YAML document. It remembers what it has been to, since an alias can name
// the same part many times.
type hider struct {
	seen  map[*yaml.Node]bool
	found bool
}

func (h *hider) search(n *yaml.Node) {
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && slices.Contains(hiding, n.Content[i-1].Value) {
			h.hide(child)
		} else {
			h.search(child)
		}
	}
}

// hide replaces every value in a part of the document, also where this part names another one.
func (h *hider) hide(n *yaml.Node) {
	if h.seen[n] {
		return
	}
	h.seen[n] = true
	switch n.Kind {
	case yaml.AliasNode:
		h.hide(n.Alias)
	case yaml.ScalarNode:
		n.Tag, n.Value, n.Style, h.found = "!!str", hidden, 0, true
	default:
		for i, child := range n.Content {
			if n.Kind != yaml.MappingNode || i%2 == 1 {
				h.hide(child)
			}
		}
	}
}

// planWithoutEnv hides the values of env in the plans.
func planWithoutEnv(text json.RawMessage) (json.RawMessage, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // keeps every digit
	var plan any
	if err := decoder.Decode(&plan); err != nil {
		return nil, err
	}
	if !hideEnv(plan) {
		return text, nil
	}
	return json.Marshal(plan)
}

func hideEnv(value any) (found bool) {
	switch value := value.(type) {
	case []any:
		for _, one := range value {
			found = hideEnv(one) || found
		}
	case map[string]any:
		for key, one := range value {
			env, ok := one.(map[string]any)
			if key != "env" || !ok {
				found = hideEnv(one) || found
				continue
			}
			for name := range env {
				env[name], found = hidden, true
			}
		}
	}
	return found
}
