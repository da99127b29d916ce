package node

import (
	"context"
	"os/exec"

	"nines.dev/nines/host"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// Runtime starts nodes of one kind and reaches into them. What such nodes can have is
// said by the runtime's descriptor (spec.RuntimeDescriptor). Undoing is the journal's: a
// node ends with its first process.
type Runtime interface {
	// Check finds out, before anything is made, whether the host can have the node.
	Check(n plan.Node) error
	// StartStep says what Start makes, for the dry run. It is pure.
	StartStep(n plan.Node) string
	// Start journals and starts the node's first process, which holds its network
	// namespace, in the node's control groups.
	Start(ctx context.Context, p Place, n plan.Node) (*Running, error)
	// Alive is true while the node runs.
	Alive(r *Running) bool
	// Command makes a command that runs in the node, see Running.Enter.
	Command(ctx context.Context, p Place, n plan.Node, r *Running, e Entry) (*exec.Cmd, error)
	// Seen is where processes in the node find nines' files, which are here on the host.
	Seen(here Files) Files
}

// Files is what processes in a node have of nines: a program and two folders.
type Files struct {
	// Engine is the program nines-engine.
	Engine string
	// Engines has the control sockets of engines, Sockets a folder for each socket of a
	// link.
	Engines, Sockets string
}

// runtimes has every runtime.
var runtimes = map[spec.Runtime]Runtime{
	spec.RuntimeNetns: netnsRuntime{},
	spec.RuntimeLXC:   lxcRuntime{},
	spec.RuntimeHost:  hostRuntime{},
	spec.RuntimeVM:    vmRuntime{},
}

// Register adds a runtime from outside of this package, beside spec.RegisterRuntime. It is
// for the start of a program.
func Register(name spec.Runtime, r Runtime) {
	if _, twice := runtimes[name]; twice {
		panic("node: two runtimes with the name " + name)
	}
	runtimes[name] = r
}

// RuntimeOf is what starts a node and reaches into it.
func RuntimeOf(n plan.Node) Runtime {
	name := n.Runtime.Descriptor().Name
	if r := runtimes[name]; r != nil {
		return r
	}
	return unknown{name: name}
}

// Process is the runtime of nodes whose processes are the host's kernel's, but for its
// StartStep and its Start: other runtimes embed it.
type Process struct{}

// Check asks for nothing.
func (Process) Check(plan.Node) error { return nil }

// Alive is true while the node's first process runs.
func (Process) Alive(r *Running) bool { return r.Alive() }

// Command enters the node's namespaces and control groups.
func (Process) Command(ctx context.Context, p Place, _ plan.Node, r *Running, e Entry) (*exec.Cmd, error) {
	return r.Enter(ctx, p.InitPath, e)
}

// Seen is here: the node sees the host's files.
func (Process) Seen(here Files) Files { return here }

// unknown is a runtime of another nines.
type unknown struct {
	Process
	name spec.Runtime
}

func (u unknown) Check(plan.Node) error {
	return &host.MissingError{
		Capability: string(u.name), Reason: "this nines does not know the runtime",
		Remedy: "use netns or lxc",
	}
}

func (unknown) StartStep(plan.Node) string { return "nothing, as its runtime is not known" }

func (u unknown) Start(_ context.Context, _ Place, n plan.Node) (*Running, error) {
	return nil, u.Check(n)
}
