package script

import (
	"fmt"
	"maps"
	"regexp"
	"strings"

	"nines.dev/nines/script/wire"
)

// Variables are what scripts are told, and tell one another. Those that scripts set in a trial are
// forgotten with it, and those of a setup script with the lab, so that a trial is the same whichever
// ran before.
type Variables struct {
	global, loop map[string]string
	nodes        map[string]map[string]string
	// swept are the names of nodes' own variables that the sweep varies, by node.
	swept map[string]map[string]bool
	// outside is true where variables that the sweep varies have no value, and hidden are the global ones.
	outside bool
	hidden  map[string]bool
	// setGlobal, setLoop and setNodes are those that scripts have set. Those of setLoop are seen where swept ones are
	// asked for.
	setGlobal, setLoop map[string]string
	setNodes           map[string]map[string]string
}

// hostname is the variable of each node that is its name, as in pos.
const hostname = "hostname"

// NewVariables are variables as the experiment file gives them: global ones, those of nodes, and
// those that its sweep varies, with their values.
func NewVariables(global map[string]string, nodes map[string]map[string]string, loop map[string]string) *Variables {
	return &Variables{global: global, nodes: nodes, loop: loop, setGlobal: map[string]string{}, setLoop: map[string]string{}, setNodes: map[string]map[string]string{}}
}

// SweepNodes says which of the nodes' own variables the sweep varies.
func (v *Variables) SweepNodes(swept map[string]map[string]bool) { v.swept = swept }

// Outside are the variables of a lab's setup and teardown, which are the same for all its trials:
// swept ones have no value.
func (v *Variables) Outside() *Variables {
	out := v.Trial(nil)
	out.loop, out.outside, out.hidden, out.global = nil, true, map[string]bool{}, maps.Clone(v.global)
	for key := range v.loop {
		out.hidden[key] = true
		delete(out.global, key)
	}
	out.nodes = maps.Clone(v.nodes)
	for node, keys := range v.swept {
		out.nodes[node] = maps.Clone(v.nodes[node])
		for key := range keys {
			delete(out.nodes[node], key)
		}
	}
	return out
}

// Trial are the variables of a trial, with what the setup scripts have set; setup may be nil.
func (v *Variables) Trial(setup *Variables) *Variables {
	out := NewVariables(v.global, v.nodes, v.loop)
	out.swept = v.swept
	if setup == nil {
		return out
	}
	maps.Copy(out.setGlobal, setup.setGlobal)
	maps.Copy(out.setLoop, setup.setLoop)
	for node, values := range setup.setNodes {
		out.setNodes[node] = maps.Clone(values)
	}
	return out
}

// Get is a variable as a node sees it: what scripts have set wins over the file, and the node's own
// over the global ones.
func (v *Variables) Get(node, key string, scope wire.Scope) (string, error) {
	var layers []map[string]string
	switch scope {
	case wire.ScopeLoop:
		layers = []map[string]string{v.ownLoop(node), v.loop, v.setLoop}
	case wire.ScopeGlobal:
		layers = []map[string]string{v.setGlobal, v.global}
	default:
		layers = []map[string]string{v.setNodes[node], v.nodes[node], {hostname: node}, v.setGlobal, v.global}
	}
	hidden := v.hidden[key]
	if own := v.outside && v.swept[node][key] && scope != wire.ScopeGlobal; own {
		layers, hidden = nil, true // a global one of its name is another
	}
	for _, layer := range layers {
		if value, ok := layer[key]; ok {
			return value, nil
		}
	}
	if hidden {
		return "", fmt.Errorf("the sweep varies the variable %s, so it has a value only in experiment scripts", key)
	}
	if scope == wire.ScopeLoop {
		return "", fmt.Errorf("the sweep does not vary a variable %s; write sweep: {variables.%s: […]}, or for this node alone {nodes.%s.variables.%s: […]}", key, key, node, key)
	}
	return "", fmt.Errorf("node %[3]s has no %[1]svariable %[2]s; add it to the file's variables, or set it first",
		map[bool]string{true: "global "}[scope == wire.ScopeGlobal], key, node)
}

// The bounds of what scripts set.
const (
	longestValue  = 64 << 10 // bytes
	mostVariables = 10_000
)

// keyForm is the form of a variable's name, which the experiment file's has too.
var keyForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_./-]{0,63}$`)

// Set sets a variable of a node, or one for all nodes: a global one, or one beside those that the sweep varies.
func (v *Variables) Set(node, key, value string, scope wire.Scope) error {
	switch {
	case v.isSwept(key), scope != wire.ScopeGlobal && v.swept[node][key]:
		return fmt.Errorf("%s is varied by the sweep and cannot be set", key)
	case !keyForm.MatchString(key):
		return fmt.Errorf("%q cannot be a variable's name: use letters, digits, '_', '.', '/' and '-', at most 64, beginning with a letter or '_'", key)
	case len(value) > longestValue:
		return fmt.Errorf("the value of %s has %d bytes; at most %d are allowed, use upload for more", key, len(value), longestValue)
	case strings.ContainsRune(value, 0):
		return fmt.Errorf("the value of %s is not text", key)
	}
	to := v.setGlobal
	switch scope {
	case wire.ScopeLoop:
		to = v.setLoop
	case wire.ScopeNode:
		if v.setNodes[node] == nil {
			v.setNodes[node] = map[string]string{}
		}
		to = v.setNodes[node]
	}
	if _, known := to[key]; !known && len(to) >= mostVariables {
		return fmt.Errorf("%d variables are set, which is the limit", len(to))
	}
	to[key] = value
	return nil
}

// isSwept is true for what the sweep varies. The result tells its value from the file, so that it has
// to be what the scripts see, in whichever scope.
func (v *Variables) isSwept(key string) bool {
	_, varies := v.loop[key]
	return varies || v.hidden[key]
}

// ownLoop are the node's own variables that the sweep varies.
func (v *Variables) ownLoop(node string) map[string]string {
	own := map[string]string{}
	for key := range v.swept[node] {
		if value, ok := v.nodes[node][key]; ok && !v.outside {
			own[key] = value
		}
	}
	return own
}

// Values are all variables of a trial, for its result.
type Values struct {
	Global map[string]string            `json:"global,omitempty"`
	Loop   map[string]string            `json:"loop,omitempty"`
	Nodes  map[string]map[string]string `json:"nodes,omitempty"`
}

// Values are the variables as they are now.
func (v *Variables) Values() Values {
	out := Values{Global: maps.Clone(v.global), Loop: maps.Clone(v.loop), Nodes: map[string]map[string]string{}}
	if out.Global == nil {
		out.Global = map[string]string{}
	}
	maps.Copy(out.Global, v.setGlobal)
	if out.Loop == nil && len(v.setLoop) > 0 {
		out.Loop = map[string]string{}
	}
	maps.Copy(out.Loop, v.setLoop)
	for _, from := range []map[string]map[string]string{v.nodes, v.setNodes} {
		for node, values := range from {
			if out.Nodes[node] == nil {
				out.Nodes[node] = map[string]string{}
			}
			maps.Copy(out.Nodes[node], values)
		}
	}
	return out
}
