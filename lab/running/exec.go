package running

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"sort"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// ExecOptions says how a command runs in a node.
type ExecOptions struct {
	// CPUs that the command may use; nil is the node's.
	CPUs []int
	// Dir is the working folder in the node; empty is /.
	Dir string
	// Env is added to the node's env.
	Env []string
	// Scheduled gives it the node's scheduling policy: for the node's workload, not for a user who
	// looks around.
	Scheduled bool
	// Scheduling is its own policy, in place of the node's; nil for none.
	Scheduling *spec.Scheduling
	// User runs it, by the node's own files; empty is root.
	User string
	// Engine is set for nines' engine; see node.Entry.
	Engine bool
	// InGroup is set where signals are sent to the command's whole process group, as by a leash:
	// then they are not forwarded to it a second time.
	InGroup bool
}

// Command makes a command that runs inside a node: in its control groups, all its namespaces and
// its root file system. Its exit code is the command's; signals sent to it reach the command, and
// the command ends with it. When ctx ends it gets SIGTERM.
func (l *Lab) Command(ctx context.Context, nodeName string, argv []string, options ExecOptions) (*exec.Cmd, error) {
	initPath, err := node.Program("nines-init")
	if err != nil {
		return nil, err
	}
	n, r, err := l.Node(nodeName)
	if err != nil {
		return nil, err
	}
	return node.RuntimeOf(n).Command(ctx, l.Place(initPath), n, r, EntryFor(n, argv, options))
}

// InsideCommand makes a command that runs a verb of nines-node inside a virtual machine.
func (l *Lab) InsideCommand(ctx context.Context, nodeName, verb string) (*exec.Cmd, error) {
	return l.Command(ctx, nodeName, []string{node.GuestNode, verb}, ExecOptions{})
}

// EntryFor is a command of a node, with the environment and the CPUs that the options give it.
func EntryFor(n plan.Node, argv []string, options ExecOptions) node.Entry {
	entry := node.Entry{Argv: argv, Dir: options.Dir, CPUs: options.CPUs, Engine: options.Engine, User: options.User, InGroup: options.InGroup, Scheduling: options.Scheduling}
	if entry.CPUs == nil {
		entry.CPUs = n.CPUs
	}
	if options.Scheduled && entry.Scheduling == nil {
		entry.Scheduling = n.Scheduling
	}
	for name, value := range n.Env {
		entry.Env = append(entry.Env, name+"="+value)
	}
	sort.Strings(entry.Env)
	if terminal := os.Getenv("TERM"); terminal != "" {
		entry.Env = append([]string{"TERM=" + terminal}, entry.Env...)
	}
	entry.Env = append(entry.Env, options.Env...)
	return entry
}

// Place is where nodes run, for callers that make nothing there.
func (l *Lab) Place(initPath string) node.Place {
	return node.Place{StateDir: l.state.Dir, Logs: l.state.Logs(), Plan: l.plan, InitPath: initPath, Files: l.Files()}
}

// Files are nines' folders on the host.
func (l *Lab) Files() node.Files {
	return node.Files{Sockets: link.SocketsDir(l.state.Dir), Scripts: l.state.Scripts()}
}

// PID is the process id of a node's first process; 0 if the node is dead.
func (l *Lab) PID(nodeName string) int {
	if !l.Alive(nodeName) {
		return 0
	}
	return l.running.of(nodeName).PID
}

// FabricPID is the process that holds the fabric's namespace; 0 without one.
func (l *Lab) FabricPID() int {
	if l.fabric == nil {
		return 0
	}
	return l.fabric.PID
}

// Node is the node with a name: as planned, and as it runs.
func (l *Lab) Node(name string) (plan.Node, *node.Running, error) {
	if n := l.index.Node(name); n != nil {
		if r := l.running.of(name); r != nil {
			return *n, r, nil
		}
		return *n, nil, fmt.Errorf("node %q of lab %q was never started; nines down %s, then up", name, l.name, l.name)
	}
	var names []string
	for _, n := range l.plan.Nodes {
		names = append(names, n.Name)
	}
	return plan.Node{}, nil, exit.Wrongf("lab %q has no node %q; %s", l.name, name, terminal.Choose(name, "its nodes:", names))
}
