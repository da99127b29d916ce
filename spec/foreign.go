package spec

import (
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"
)

// tool is another program whose files are easily taken for experiment files.
type tool struct {
	// file is what its file is, with the article; instead is what to write for nines.
	file, instead string
	// is recognises a file: by its base name, its text, or its tree, which is nil where it is no YAML.
	is func(base string, text []byte, root *node) bool
}

// tools lists them. Each is recognised by what no experiment file has, so that a mistake in one keeps its own message.
var tools = []tool{
	{
		"a containerlab topology",
		"write each node with runtime: oci and its image, and keep the endpoints of the links",
		func(base string, _ []byte, root *node) bool {
			return strings.HasSuffix(strings.TrimSuffix(strings.TrimSuffix(base, ".yaml"), ".yml"), ".clab") || isContainerlab(root)
		},
	},
	{
		"a Docker Compose file",
		"write each service as a node with runtime: oci, its image and command, and join the nodes by topology.links",
		func(_ string, _ []byte, root *node) bool {
			return root.get("topology") == nil && slices.ContainsFunc(values(root.get("services")), func(n *node) bool {
				return n.get("image") != nil || n.get("build") != nil
			})
		},
	},
	{
		"a Kubernetes manifest",
		"'kubectl apply -f' takes it; experiments with pods have nodes with runtime: pod",
		func(_ string, text []byte, _ *node) bool { return apiVersion.Match(text) && objectKind.Match(text) },
	},
	{
		"a Kathará lab.conf",
		"write each device as a node of topology.nodes, and each collision domain as a link with kind: bridge",
		func(_ string, text []byte, _ *node) bool { return isKathara(string(text)) },
	},
	{
		"a Mininet script",
		"write each host as a node of topology.nodes, each switch as a link with kind: bridge or switch, and the bandwidth and delay of a TCLink as the link's impair",
		func(_ string, text []byte, _ *node) bool { return importsMininet.Match(text) },
	},
	{
		"a Vagrantfile",
		"write each machine as a node with runtime: vm, and each private network as a link",
		func(_ string, text []byte, _ *node) bool { return vagrant.Match(text) },
	},
}

var (
	apiVersion     = regexp.MustCompile(`(?m)^"?apiVersion"?:\s*\S`)
	objectKind     = regexp.MustCompile(`(?m)^"?kind"?:\s*"?[A-Z]\w+`)
	importsMininet = regexp.MustCompile(`(?m)^\s*(from|import) mininet\b`)
	vagrant        = regexp.MustCompile(`(?m)^\s*Vagrant\.configure`)
	// kathara is a line of lab.conf: a device's option, as in `pc1[0]="A"`, or a field of the lab.
	kathara = regexp.MustCompile(`^([\w.-]+\[\w+\]|LAB_[A-Z]+)\s*=`)
)

// foreign is the tool whose file this is, or nil.
func foreign(name string, text []byte, root *node) *tool {
	for i := range tools {
		if tools[i].is(path.Base(name), text, root) {
			return &tools[i]
		}
	}
	return nil
}

// IsForeign is true for the error that a file is another tool's.
func IsForeign(err error) bool {
	wrong := new(Error)
	return errors.As(err, &wrong) && wrong.foreign
}

// refusal says what the file is, and what to do instead.
func (t *tool) refusal(name string) *Error {
	return &Error{
		foreign: true, File: name, Problem: "is " + t.file + ", which nines does not read",
		Remedy: t.instead + "; docs/reference/experiment-file.md has every key, and examples/ files to start from",
	}
}

// isContainerlab is true for nodes with a kind of containerlab's, or its defaults for many nodes.
func isContainerlab(root *node) bool {
	topology := root.get("topology")
	for _, key := range []string{"kinds", "defaults", "groups"} {
		if d := topology.get(key); d != nil && d.kind == mapping {
			return true
		}
	}
	return slices.ContainsFunc(values(topology.get("nodes")), func(n *node) bool {
		kind := n.get("kind")
		return kind != nil && n.get("runtime") == nil && !slices.Contains(runtimeNames(), kind.text)
	})
}

func isKathara(text string) bool {
	found := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case !kathara.MatchString(line):
			return false
		default:
			found = true
		}
	}
	return found
}

// values are those of a mapping; none of anything else.
func values(n *node) []*node {
	if n == nil {
		return nil
	}
	var list []*node
	for _, e := range n.entries {
		list = append(list, e.value)
	}
	return list
}
