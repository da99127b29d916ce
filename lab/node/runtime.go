package node

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/pci"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// Runtime starts nodes of one kind and runs commands in them. The runtime's descriptor
// (spec.RuntimeDescriptor) says what such nodes can have. The journal undoes them: a node ends with
// its first process.
type Runtime interface {
	// Check checks, before anything is made, that the host can run the node.
	Check(n plan.Node) error
	// StartStep says what Start makes, for the dry run. It is pure.
	StartStep(n plan.Node) string
	// Start journals and starts the node's first process, in the node's control groups. It holds
	// the node's network namespace.
	Start(ctx context.Context, p Place, n plan.Node) (*Running, error)
	// Alive is true while the node runs.
	Alive(r *Running) bool
	// Command makes a command that runs in the node; see Running.Enter.
	Command(ctx context.Context, p Place, n plan.Node, r *Running, e Entry) (*exec.Cmd, error)
	// Seen returns where processes in the node find nines' files; here is where they are on the
	// host.
	Seen(here Files) Files
}

// checksAgain is a runtime that needs less, or other things, of the host to start a node again.
type checksAgain interface {
	checkAgain(p Place, n plan.Node) error
}

// CheckAgain checks that the host can start a node again whose files are there.
func (p Place) CheckAgain(n plan.Node) error {
	if r, ok := RuntimeOf(n).(checksAgain); ok {
		return r.checkAgain(p, n)
	}
	return RuntimeOf(n).Check(n)
}

// Files are nines' files for processes in a node: programs and folders.
type Files struct {
	// Engine is the program nines-engine.
	Engine string
	// Sockets has a folder for each socket of a link.
	Sockets string
	// ScriptCommand is the program nines-script, Scripts the folder of the nodes' folders of scripts.
	ScriptCommand, Scripts string
}

// runtimes maps the name of every runtime to it.
var runtimes = map[spec.Runtime]Runtime{
	spec.RuntimeNetns: netnsRuntime{},
	spec.RuntimeLXC:   lxcRuntime{},
	spec.RuntimeOCI:   ociRuntime{},
	spec.RuntimeHost:  hostRuntime{},
	spec.RuntimeVM:    vmRuntime{},
	spec.RuntimePod:   podRuntime{},
}

// Register adds a runtime from another package, which also calls spec.RegisterRuntime. Call it at
// the start of a program.
func Register(name spec.Runtime, r Runtime) {
	if _, twice := runtimes[name]; twice {
		panic("node: two runtimes with the name " + name)
	}
	runtimes[name] = r
}

// RuntimeOf is the runtime of a node.
func RuntimeOf(n plan.Node) Runtime {
	name := n.Runtime.Descriptor().Name
	if r := runtimes[name]; r != nil {
		return r
	}
	return unknown{name: name}
}

// Process is a runtime, without StartStep and Start, for nodes whose processes run on the host's
// kernel: other runtimes embed it.
type Process struct{}

// Check needs nothing of the host.
func (Process) Check(plan.Node) error { return nil }

// Alive is true while the node's first process runs, in the namespaces that are the node's.
func (Process) Alive(r *Running) bool { return r.InNamespaces() }

// Command enters the node's namespaces and control groups, behind its walls.
func (Process) Command(ctx context.Context, p Place, n plan.Node, r *Running, e Entry) (*exec.Cmd, error) {
	var err error
	if e.walls, err = p.entryWalls(n, e.Engine); err != nil {
		return nil, fmt.Errorf("node %q: %w", n.Name, err)
	}
	return r.Enter(ctx, p.InitPath, e)
}

// entryWalls are the options of nines-init that say what a command in a node may do, where that is not what the
// node's first process may.
func (p Place) entryWalls(n plan.Node, engine bool) ([]string, error) {
	w := WallsOf(withDevices(n, pci.Bus{}))
	if !engine {
		filter, err := p.filterFile(n, w)
		if filter == "" || err != nil {
			return nil, err
		}
		return []string{"--filter", filter}, nil
	}
	program, err := Program("nines-engine")
	if err != nil || w.Privileged {
		return []string{"--program", program}, err
	}
	return []string{"--program", program, "--capabilities", strconv.FormatUint(w.engine, 16)}, nil
}

// Seen returns here: the node sees the host's files.
func (Process) Seen(here Files) Files { return here }

// unknown stands for a runtime that only another version of nines has.
type unknown struct {
	Process
	name spec.Runtime
}

func (u unknown) Check(plan.Node) error {
	return &exit.MissingError{
		Capability: string(u.name), Reason: "unknown runtime",
		Remedy: "use a version of nines that supports it",
	}
}

func (unknown) StartStep(plan.Node) string { return "nothing, as its runtime is unknown" }

func (u unknown) Start(_ context.Context, _ Place, n plan.Node) (*Running, error) {
	return nil, u.Check(n)
}
