package spec

import (
	"reflect"
	"slices"
)

// Runtime is what a node is made of.
type Runtime string

// RuntimeDescriptor is what there is to know of a runtime before anything is made. The
// checks of a file, its schema, plans, the dry run and nines doctor read it, and nothing
// asks for a runtime by its name. Package lab/node has what starts such nodes.
type RuntimeDescriptor struct {
	Name Runtime
	// Doc says in a few words what is around the node's processes.
	Doc string
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
	// Needs names what a host must have for the runtime, beside network namespaces:
	// features of package host.
	Needs []string
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

// RegisterRuntime adds a runtime from outside of this package, beside node.Register. It is
// for the start of a program, before any file is read.
func RegisterRuntime(d RuntimeDescriptor) {
	if slices.Contains(runtimeNames(), string(d.Name)) {
		panic("spec: two runtimes with the name " + d.Name)
	}
	runtimes = append(runtimes, d)
	enums[reflect.TypeFor[Runtime]()] = runtimeNames()
}

// Descriptor is what there is to know of a runtime: of none what there is of the default,
// of an unknown one nothing.
func (r Runtime) Descriptor() *RuntimeDescriptor {
	if r == "" {
		return &runtimes[0]
	}
	if i := slices.IndexFunc(runtimes, func(d RuntimeDescriptor) bool { return d.Name == r }); i >= 0 {
		return &runtimes[i]
	}
	return &RuntimeDescriptor{Name: r}
}

// Takes is true for a key of a node that its runtime has.
func (d *RuntimeDescriptor) Takes(key string) bool {
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
