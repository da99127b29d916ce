package plan

import (
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/spec"
)

// allowed are the rights that a file allows a node, each once, in one order.
func allowed(list []spec.Allowance) []spec.Allowance {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// runtimeText is the node's runtime, and what its programs may do besides the ordinary.
func (n Node) runtimeText() string {
	var words []string
	if n.Privileged {
		words = append(words, "privileged")
	}
	for _, right := range n.Allow {
		words = append(words, "allow "+string(right))
	}
	if n.NoNewPrivileges {
		words = append(words, "no new privileges")
	}
	if len(words) == 0 {
		return string(n.Runtime)
	}
	return fmt.Sprintf("%s (%s)", n.Runtime, strings.Join(words, ", "))
}

// consequences are what a program can do with a right.
var consequences = map[spec.Allowance]string{
	spec.AllowBPF:     "its programs load BPF programs, at the kernel's interfaces too",
	spec.AllowPerf:    "its programs observe those of other nodes and of the host, and with bpf read the kernel's memory",
	spec.AllowIOUring: "its programs use io_uring, which has been a way out of containers",
	spec.AllowDPDK:    "its programs lock memory, take real-time policies, and drive the node's devices",
}

// rights are the reasons for what the node's programs may do besides the ordinary.
func (n Node) rights() []string {
	var list []string
	if n.Privileged {
		list = append(list, "privileged, as the file asks: its processes have all rights of the host's root")
	}
	for _, right := range n.Allow {
		list = append(list, fmt.Sprintf("%s is allowed, as the file asks: %s", right, consequences[right]))
	}
	if n.App.Handling().IsDevice() && (n.Privileged || slices.Contains(n.Allow, spec.AllowBPF)) {
		list = append(list, "once it has an XDP program in native mode, the ends opposite to it get GRO, as they refuse redirected frames without it")
	}
	return list
}

// noWall is the note on nodes that keep their programs only from mistakes; empty if there are none.
func (p *Plan) noWall() string {
	var names []string
	for _, n := range p.Nodes {
		if d := n.Runtime.Descriptor(); d.Takes("privileged") && !d.OwnRoot {
			names = append(names, n.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("%s %s no wall: as root, programs there may read and write the host's files; use lxc, oci or vm for those that you do not trust.",
		counted(names, "netns node"), map[bool]string{true: "is", false: "are"}[len(names) == 1])
}

// counted names nodes of a kind, or says how many there are.
func counted(names []string, kind string) string {
	switch {
	case len(names) == 1:
		return kind + " " + names[0]
	case len(names) > 4:
		return fmt.Sprintf("%d %ss", len(names), kind)
	}
	return kind + "s " + strings.Join(names, ", ")
}
