package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"nines.dev/nines/exit"
	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/plan"
)

// Running is a node that runs.
type Running struct {
	Name string
	// Step is the number of the journal's step that started it.
	Step int
	// Token is in the environment of every process of a host node; empty for other nodes, whose
	// processes end with their namespaces.
	Token string
	// Identity is its pid 1 as the host sees it; zero for a node that is stopped.
	proc.Identity
	// Network is its network namespace, where that belongs to the lab and not to its pid 1.
	Network Network
	// Marks say what was done to it besides: Stopped by someone, Unfinished while it is stopped or started
	// and after that was cut off, Fresh if its next start recreates its files.
	Marks
	// QEMU is the process of a virtual machine that has booted.
	QEMU proc.Identity
	// Keeper is the process that ends with a node's pod.
	Keeper proc.Identity
}

// Holder is the process that holds the node's network namespace, and the number of the step that
// started it.
func (r *Running) Holder() (proc.Identity, int) {
	if r.Network.PID != 0 {
		return r.Network.Identity, r.Network.Step
	}
	return r.Identity, r.Step
}

// Main is the process that the node ends with.
func (r *Running) Main(n plan.Node) proc.Identity {
	if n.Guest() {
		return r.QEMU
	}
	return r.Identity
}

// Namespace opens the node's network namespace.
func (r *Running) Namespace() (*netns.Namespace, error) {
	holder, _ := r.Holder()
	ns, err := netns.OfProcess(holder.PID)
	if err != nil {
		return nil, fmt.Errorf("node %q: %w", r.Name, err)
	}
	return ns, nil
}

// gone is the error for a node in which nothing runs; why says why, if nobody has stopped it.
func (r *Running) gone(why string) error {
	switch {
	case r.Stopped:
		return fmt.Errorf("node %q is stopped; nines start %s starts it", r.Name, r.Name)
	case r.Network.PID != 0 && r.Network.InNamespaces():
		return fmt.Errorf("node %q is dead: %s; nines restart %s starts it again", r.Name, why, r.Name)
	}
	return fmt.Errorf("node %q is dead: %s; nines apply with the lab's file rebuilds it", r.Name, why)
}

// Written are the names that nodes have in StateDir.
var Written = []string{nodesFolder, containersFolder, machinesFolder, bootstrapLog, sharedNamesFolder, namesFolder, accessFolder, filtersFolder}

const (
	nodesFolder      = "nodes"
	containersFolder = "lxc"
	machinesFolder   = "vms"
	bootstrapLog     = "mmdebstrap.log"
)

// NodeFolder is for the files of a node whose runtime has no folder of its own. Nothing else that a
// runtime writes below StateDir is removed with the lab.
func (p Place) NodeFolder(nodeName string) string {
	return filepath.Join(p.StateDir, nodesFolder, nodeName)
}

// Place is where a lab's nodes are made.
type Place struct {
	Journal *journal.Journal
	// StateDir is the lab's folder.
	StateDir string
	// Logs is the folder of logs that only the host sees.
	Logs string
	Plan *plan.Plan
	// Groups makes the nodes' control groups.
	Groups *isolate.Lab
	// InitPath is the program nines-init.
	InitPath string
	// Files are nines' files as the host sees them.
	Files Files
	// Sockets are the folders of sockets that a container sees, by node.
	Sockets map[string][]string
	// Network is the network namespace that the node joins; nil for a node whose first process makes
	// its own.
	Network *Network
	// Again is true for a node that is started again: its files stay as it has left them.
	Again bool
	// Progress receives a line on each step that takes long; never nil.
	Progress func(string)
}

// Program finds one of nines' programs: in the folder that NINES_LIBEXEC names, or else in the
// folder of the running program.
func Program(name string) (string, error) {
	dir := os.Getenv("NINES_LIBEXEC")
	if dir == "" {
		self, err := os.Executable()
		if err != nil {
			return "", fmt.Errorf("find %s: %w", name, err)
		}
		dir = filepath.Dir(self)
	}
	path, err := filepath.Abs(filepath.Join(dir, name))
	if err != nil {
		return "", fmt.Errorf("find %s: %w", name, err)
	}
	if _, err := os.Stat(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("find %s: %w", name, err)
	} else if err != nil {
		return "", &exit.MissingError{
			Capability: name, Reason: "there is no " + path,
			Remedy: "nines stays in one folder with its programs: copy the whole folder and make a link to nines (ln -s), or name the folder in NINES_LIBEXEC; in a checkout, run make build",
		}
	}
	return path, nil
}

// workers is how many nodes or links are made at the same time. More than two are no faster: the
// kernel makes namespaces and devices under one lock (RTNL).
const workers = 2

// Each calls f for 0 to n-1 with a few workers, and stops at the first error.
func Each(ctx context.Context, n int, f func(i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var group sync.WaitGroup
	for range min(workers, n) {
		group.Go(func() {
			for i := range next {
				if err := f(i); err != nil {
					cancel(err)
				}
			}
		})
	}
feed:
	for i := range n {
		select {
		case <-ctx.Done():
			break feed
		case next <- i:
		}
	}
	close(next)
	group.Wait()
	return context.Cause(ctx)
}

// Find finds the nodes' first processes in a journal, and the networks of those that have none now.
// A node's first step has the node's own token; engines and pollers, which are also processes of a
// node, have other tokens.
func Find(j *journal.Journal) map[string]*Running {
	found := map[string]*Running{}
	for _, e := range j.Entries() {
		if e.Node == "" || e.Learnt == nil {
			continue
		}
		r := found[e.Node]
		if r == nil {
			r = &Running{Name: e.Node}
		}
		starts := e.Kind == process.Kind || e.Kind == KindContainer || e.Kind == KindOCIContainer || e.Kind == KindHostNode
		switch {
		case starts && e.Token == j.Token(e.Node):
			r.Step, r.Identity = e.ID, process.Of(e)
			if e.Kind == KindHostNode {
				r.Token = e.Token
			}
			found[e.Node] = r
		case e.Kind == KindNetwork:
			r.Network = Network{Identity: process.Of(e), Step: e.ID}
			found[e.Node] = r
		case e.Kind == KindMark:
			r.take(e.Name)
		case e.Kind == process.Kind && e.Name == qemuStep && e.Link == "":
			r.QEMU = process.Of(e)
		case e.Kind == process.Kind && e.Name == keeperStep:
			r.Keeper = process.Of(e)
		}
	}
	return found
}
