package spec

import (
	"reflect"
	"slices"
	"strings"
)

// Runtime is what a node is made of.
type Runtime string

// RuntimeDescriptor is what there is to know of a runtime before anything is made. The
// checks of a file, its schema, plans, the dry run and nines doctor read it, and nothing
// asks for a runtime by its name. Package lab/node has what starts such nodes.
type RuntimeDescriptor struct {
	Name Runtime
	// About says in a few words what is around the node's processes.
	About string
	// Keys are those of a node that only some runtimes take, and that this one does: a
	// key that no runtime has here is for all of them.
	Keys []string
	// Refusals say why the runtime does not take one of these keys, where there is more to
	// say than that.
	Refusals map[string]Refusal
	// LeastMemory is the least that a node can be limited to; 0 is that of all nodes.
	LeastMemory Size
	// Sysctls are those that a node has for itself.
	Sysctls SysctlScope
	// OwnRoot is true for a node with a root file system of its own, in which the targets
	// of mounts are made. Others see the host's.
	OwnRoot bool
	// Groups is who makes the control groups of a node.
	Groups Grouping
	// Guest is true for a virtual machine: a node with a kernel, a bus and a clock of its
	// own. It joins links by taps, vhost-user ports and functions of PCI, its kernel
	// receives its packets, and it is set up from inside.
	Guest bool
	// Features are what the runtime asks of the host, beside network namespaces, by their
	// names in the host's inventory.
	Features []string
}

// Refusal says why a key is refused, and what to do.
type Refusal struct{ Problem, Remedy string }

// SysctlScope is how many of the kernel's settings a node has for itself.
type SysctlScope int

// The scopes of sysctls: those of a network namespace, those of all namespaces, and all.
const (
	SysctlsOfNetwork SysctlScope = iota
	SysctlsOfNamespaces
	SysctlsOfKernel
)

// Grouping is who puts a node's processes into control groups.
type Grouping int

const (
	// Ungrouped nodes are in no control group: nothing limits them, and they keep to
	// their CPUs by affinity alone.
	Ungrouped Grouping = iota
	// GroupedByNines are those whose first process nines puts into groups.
	GroupedByNines
	// GroupedByTools are those whose own tools make the groups that nines names.
	GroupedByTools
)

// RegisterRuntime adds a runtime, before the first file is read.
func RegisterRuntime(d RuntimeDescriptor) {
	runtimes = append(runtimes, d)
	enums[reflect.TypeFor[Runtime]()] = runtimeNames()
}

// Descriptor is what there is to know of the runtime: the default's for none, and one
// that can do nothing for a name that is not known.
func (r Runtime) Descriptor() RuntimeDescriptor {
	if r == "" {
		return runtimes[0]
	}
	for _, d := range runtimes {
		if d.Name == r {
			return d
		}
	}
	return RuntimeDescriptor{Name: r}
}

// Takes is true for a key of a node that its runtime has.
func (d RuntimeDescriptor) Takes(key string) bool {
	return slices.Contains(d.Keys, key) || len(runtimesWith(key)) == 0
}

func runtimeNames() []string {
	names := make([]string, len(runtimes))
	for i, d := range runtimes {
		names[i] = string(d.Name)
	}
	return names
}

// runtimesWith are the runtimes that have a key for themselves.
func runtimesWith(key string) []string {
	var names []string
	for _, d := range runtimes {
		if slices.Contains(d.Keys, key) {
			names = append(names, string(d.Name))
		}
	}
	return names
}

// runtimesAbout are all runtimes in words, for the schema.
func runtimesAbout() string {
	var words []string
	for _, d := range runtimes {
		words = append(words, string(d.Name)+": "+d.About)
	}
	return strings.Join(words, "; ") + "."
}
