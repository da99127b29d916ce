package link

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"nines.dev/nines/exit"
	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/kernel/await"
	"nines.dev/nines/kernel/hugepages"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/plan"
)

// Program is a process between a link's endpoints, or one that such a process needs: a switch, its
// database. It runs in the namespaces of the lab's fabric, as root, and belongs to one link.
type Program struct {
	// Name is the process's name in the journal, in nines inspect and in its log's name; unique in
	// its link: "ovsdb-server".
	Name string
	// Argv is what to run; Argv[0] is a path from Find.
	Argv []string
	// Env is added to a small base environment: "OVS_RUNDIR=/…".
	Env []string
	// CPUs that it may use; nil: the link's CPUs in the plan, which are the polling CPUs and the
	// one for other threads. The program's own configuration says which thread polls where.
	CPUs []int
	// Inside is a program of the same link whose namespaces it shares; nil is the fabric. Where a
	// program's device names are fixed, and would clash with those of another instance, the link's
	// first program is run by unshare(1).
	Inside *Process
	// Dir is its working folder; empty is the link's own (RunDir).
	Dir string
	// Ready is called until it returns nil; nil where a program is ready once it runs.
	Ready func(ctx context.Context) error
	// Patience bounds the wait for Ready; 0 is 20 seconds.
	Patience time.Duration
}

// Process is a program that was started.
type Process struct {
	proc.Identity
	// Link and Name are those of its program.
	Link, Name string
	// Step is the number of the journal's step that started it.
	Step int
	// Log is the file with all that it wrote to standard output and error.
	Log string
}

// programPatience allows for programs that first set up gigabytes of memory or large tables;
// dpdk-testpmd and ovs-vswitchd need a second or two.
const programPatience = 20 * time.Second

// Find returns the path of a program on the host. If none of the names exists, the error is a
// exit.MissingError for the capability, with the remedy: how to get the program.
func Find(capability, remedy string, names ...string) (string, error) {
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err == nil {
			return filepath.Abs(path)
		}
	}
	return "", &exit.MissingError{
		Capability: capability, Remedy: remedy,
		Reason: "there is no " + strings.Join(names, ", nor ") + " in PATH",
	}
}

// LogPath is the log of a link's program. Nodes do not see the folder: a container could place a
// symbolic link there for nines to write through.
func LogPath(stateDir, linkName, program string) string {
	// No clash: the names of nodes' logs contain one dot only.
	return filepath.Join(stateDir, "logs", linkName+"."+program+".log")
}

// runDir is the folder of a link's programs.
func runDir(stateDir, linkName string) string { return filepath.Join(stateDir, "switches", linkName) }

// RunDir makes the folder of a link's programs, for their control sockets, databases and pid files.
// It is removed with the link.
func (s *Site) RunDir(l plan.Link) (string, error) {
	path := runDir(s.StateDir, l.Name)
	if inode, err := journal.Inode(path); inode != 0 || err != nil {
		return path, err
	}
	step := journal.Step{Kind: journal.KindTree, Link: l.Name, Path: path}
	return path, s.Journal.Make(step, func() (journal.Learnt, error) {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return journal.Learnt{}, err
		}
		return journal.Learn(path)
	})
}

// Start starts a program and returns when it is ready. The program is journalled before it starts,
// outlives nines, and is killed with its link. If it ends before it is ready, the error has the
// last lines of its log.
func (s *Site) Start(ctx context.Context, l plan.Link, p Program) (*Process, error) {
	dir, err := s.RunDir(l)
	if err != nil {
		return nil, err
	}
	if p.Dir == "" {
		p.Dir = dir
	}
	if p.CPUs == nil {
		p.CPUs = programCPUs(l)
	}
	where := s.FabricNode
	if p.Inside != nil {
		where = &node.Running{Name: l.Name + "/" + p.Inside.Name, Step: p.Inside.Step, Identity: p.Inside.Identity}
	}
	if h := s.Plan.Hugepages; h != nil && l.Switch != nil && l.Switch.DPDK != nil && l.Switch.DPDK.Huge {
		if err := hugepages.AwaitMemory(ctx, l.Switch.DPDK.MemoryNode, l.Switch.DPDK.MemoryBytes, h.PageBytes); err != nil {
			return nil, err
		}
	}
	started := &Process{Link: l.Name, Name: p.Name, Log: LogPath(s.StateDir, l.Name, p.Name)}
	token := s.Journal.Token("link/" + l.Name + "/" + p.Name)
	step := journal.Step{Kind: process.Kind, Link: l.Name, Name: p.Name, Token: token}
	if started.Step, err = s.Journal.Begin(step); err != nil {
		return nil, err
	}
	err = func() error {
		log, err := os.Create(started.Log)
		if err != nil {
			return err
		}
		defer log.Close()
		started.Identity, err = node.Detached(ctx, where, s.InitPath, node.Entry{
			Argv: p.Argv, Dir: p.Dir, CPUs: p.CPUs, Detach: token,
			Env: append(slices.Clone(p.Env), "NINES_TOKEN="+token),
		}, log)
		return err
	}()
	if err == nil {
		err = s.Journal.Done(started.Step, process.Learnt(started.Identity))
	}
	if err == nil {
		err = started.await(ctx, p)
	}
	if err != nil {
		return nil, withLog(fmt.Errorf("%s: %w", p.Name, err), started.Log)
	}
	return started, nil
}

// holder is the process as the holder of its namespaces.
func (p *Process) holder() Holder { return Holder{PID: p.PID, Step: p.Step} }

// onEnd calls f when the process has ended, unless stop is called first.
func (p *Process) onEnd(f func()) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		if p.AwaitEnd(ctx) == nil {
			f()
		}
	}()
	return cancel
}

// runs is true if the journal has a program of a link.
func (s *Site) runs(l plan.Link, program string) bool {
	return slices.ContainsFunc(s.Journal.Entries(), func(e journal.Entry) bool {
		return e.Kind == process.Kind && e.Link == l.Name && e.Name == program && e.Learnt != nil
	})
}

// programCPUs are the CPUs of a link's program: those that poll, and the one for
// everything else.
func programCPUs(l plan.Link) []int {
	if l.Switch == nil {
		return nil
	}
	cpus := append(slices.Clone(l.Switch.CPUs), l.Switch.HousekeepingCPU)
	slices.Sort(cpus)
	return slices.Compact(cpus)
}

// await returns when the program is ready, has ended, or the timeout is over.
func (p *Process) await(ctx context.Context, program Program) error {
	return await.Until(ctx, await.Condition{
		What: "it is ready", Within: cmp.Or(program.Patience, programPatience), Every: time.Millisecond, UpTo: 50 * time.Millisecond,
		Holds: func(ctx context.Context) error {
			if !p.Alive() {
				return await.Never(errors.New("it ended at once"))
			}
			if program.Ready == nil {
				return nil
			}
			return program.Ready(ctx)
		},
	})
}

// Run runs a short command in the namespaces of the link's programs and returns its output; an
// error includes the output.
func (s *Site) Run(ctx context.Context, l plan.Link, env []string, argv ...string) (string, error) {
	entry := node.Entry{Argv: argv, Env: env, Dir: runDir(s.StateDir, l.Name)}
	if l.Switch != nil {
		entry.CPUs = []int{l.Switch.HousekeepingCPU}
	}
	cmd, err := s.FabricNode.Enter(ctx, s.InitPath, entry)
	if err != nil {
		return "", err
	}
	out, err := cmd.CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		return text, fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, text)
	}
	return text, nil
}

// withLog adds a program's last output to an error.
func withLog(err error, log string) error {
	if said := node.LastLines(log); said != "" {
		return fmt.Errorf("%w; its last lines, of %s: %s", err, log, said)
	}
	return err
}
