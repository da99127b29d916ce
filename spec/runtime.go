package spec

import (
	"reflect"
	"slices"
)

// Runtime is what a node is made of.
type Runtime string

// RuntimeDescriptor describes a runtime. The checks of a file, its schema, plans, the dry run and
// nines doctor read it, and nothing compares runtimes by name. Package lab/node has the code that
// starts such nodes.
type RuntimeDescriptor struct {
	Name Runtime
	// Doc says in a few words what is around the node's processes.
	Doc string
	// Keys are the keys of a node that only some runtimes, among them this one, take. A key that no
	// runtime lists here is for all of them but those that refuse it.
	Keys []string
	// Refusals say why the runtime does not take a key, where there is more to say than that.
	Refusals map[string]Refusal
	// LeastMemory is the lowest memory limit for a node; 0 is the bound for all nodes.
	LeastMemory Size
	// Sysctls are the sysctls that a node has for itself.
	Sysctls SysctlScope
	// OwnRoot is true for a node with a root file system of its own, in which the targets
	// of mounts are made. Others see the host's.
	OwnRoot bool
	// NeedsImage is true for a node that is nothing without an image.
	NeedsImage bool
	// Groups says who makes the control groups of a node.
	Groups Grouping
	// Guest is true for a virtual machine: a node with its own kernel, bus and clock. It joins
	// links by taps, vhost-user ports and PCI functions, its kernel receives its packets, and it is
	// set up from inside.
	Guest bool
	// Remote is true for a node on a cluster, perhaps on another machine: it has no CPU, memory or
	// device of this host, no clock that others read, and one interface, PodInterface, which the
	// cluster makes and addresses.
	Remote bool
	// Needs names the features of package host that the runtime needs, besides network namespaces.
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
	// Ungrouped nodes are in no control group: nothing limits them, and only affinity keeps them on
	// their CPUs.
	Ungrouped Grouping = iota
	// GroupedByNines nodes have a first process that nines puts into control groups.
	GroupedByNines
	// GroupedByTools nodes have tools that make the control groups, under the names that nines
	// gives.
	GroupedByTools
)

// RegisterRuntime adds a runtime from another package, which also calls node.Register. Call it at
// the start of a program, before any file is read.
func RegisterRuntime(d RuntimeDescriptor) {
	if slices.Contains(runtimeNames(), string(d.Name)) {
		panic("spec: two runtimes with the name " + d.Name)
	}
	runtimes = append(runtimes, d)
	enums[reflect.TypeFor[Runtime]()] = runtimeNames()
}

// Descriptor returns the descriptor of a runtime: of the default for an empty name, an empty one
// for an unknown runtime.
func (r Runtime) Descriptor() *RuntimeDescriptor {
	if r == "" {
		return &runtimes[0]
	}
	if i := slices.IndexFunc(runtimes, func(d RuntimeDescriptor) bool { return d.Name == r }); i >= 0 {
		return &runtimes[i]
	}
	return &RuntimeDescriptor{Name: r}
}

// Takes is true for a key of a node that the runtime takes.
func (d *RuntimeDescriptor) Takes(key string) bool {
	return slices.Contains(d.Keys, key) || len(runtimesWith(key)) == 0 && d.Refusals[key].Problem == ""
}

// Restarts is true for a runtime whose nodes can be stopped and started: their network namespace
// belongs to the lab, and what runs in them joins it.
func (d *RuntimeDescriptor) Restarts() bool { return slices.Contains(d.Keys, "restart") }

// runtimesThatTake lists the runtimes that take a key.
func runtimesThatTake(key string) []string {
	var names []string
	for i := range runtimes {
		if runtimes[i].Takes(key) {
			names = append(names, string(runtimes[i].Name))
		}
	}
	return names
}

// Runtimes lists every runtime, the default first.
func Runtimes() []Runtime {
	all := make([]Runtime, len(runtimes))
	for i, d := range runtimes {
		all[i] = d.Name
	}
	return all
}

func runtimeNames() []string {
	names := make([]string, len(runtimes))
	for i, d := range runtimes {
		names[i] = string(d.Name)
	}
	return names
}

// runtimesWith lists the runtimes that list a key as their own.
func runtimesWith(key string) []string {
	var names []string
	for _, d := range runtimes {
		if slices.Contains(d.Keys, key) {
			names = append(names, string(d.Name))
		}
	}
	return names
}
