package isolate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"nines.dev/nines/exit"
	"nines.dev/nines/host/tune"
	"nines.dev/nines/journal"
	"nines.dev/nines/journal/setting"
	"nines.dev/nines/kernel/await"
	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/kernel/tasks"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// AccountFile is the record of threads' affinity in a lab's folder.
const AccountFile = "threads.json"

// KindThreads is the record, Path, of the CPUs that every thread of the host could use before some
// were taken away: the undo restores each thread's affinity.
var KindThreads = journal.Register("threads", journal.Undo{Step: func(_ context.Context, u journal.Undoing) error {
	taken, err := tasks.Taken(u.Path)
	if err != nil {
		return err
	}
	if err := awaitReturned(taken); err != nil {
		return err
	}
	return tasks.Restore(u.Path, u.Note)
}, Lost: "which CPUs threads of the host may use"})

// partitionPatience bounds the wait for CPUs that the kernel is giving back.
const partitionPatience = 5 * time.Second

// awaitReturned waits until no partition has the CPUs: the kernel gives those of a removed
// group back some time after the removal, and LXC removes groups itself. What others keep from the
// host, it does not wait for long. Where nobody can tell, threads must wait: those that cannot get their
// CPUs back yet would be given up.
func awaitReturned(taken tasks.Set) error {
	h, err := Find(CPUSet)
	if errors.As(err, new(*exit.MissingError)) || errors.Is(err, fs.ErrNotExist) || err == nil && h.Version != 2 {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = await.InTime(context.Background(), await.Condition{
		What: "no partition has the CPUs", Within: partitionPatience, Every: 2 * time.Millisecond,
		Holds: func(context.Context) error {
			text, err := readFile(filepath.Join(h.Mount, effectiveFile))
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			if err != nil {
				return await.Never(err)
			}
			now, wrong := tasks.ParseSet(text)
			return await.Answer(wrong != nil || now.Holds(taken), nil)
		},
	})
	return err
}

func (l *Lab) accountPath() string { return filepath.Join(l.StateDir, AccountFile) }

// Prepare makes the lab's own groups and takes its CPUs from everything else on the host, as far as
// the plan says. Nodes start after it, then Settle runs. It is idempotent.
//
// The order matters, as undo goes backwards: the record of threads comes first, so that their
// affinity is restored when no cpuset can change it; the mask of workqueues comes before
// the partition, as the kernel removes a partition's CPUs from what that file shows
// (workqueue_unbound_exclude_cpumask, Linux 6.7).
func (l *Lab) Prepare(ctx context.Context) error {
	if !plan.Partitions(l.Plan.Isolation) {
		return l.Claim()
	}
	if l.prepared() {
		return nil
	}
	h, err := Find(CPUSet)
	if err != nil {
		return err
	}
	taken := tasks.Set(l.Plan.IsolatedCPUs)
	err = recordThreads(l.Journal, l.accountPath(), func() error {
		return tasks.Write(l.accountPath(), taken, l.Plan.QuietCPUs)
	})
	if err != nil {
		return err
	}
	if l.Plan.Isolation == spec.IsolationIsolated {
		away := Away{Root: "/", Off: l.offLimits(), Housekeeping: l.hostCPUs(), Held: setting.Held(l.ledger())}
		made, err := keepOff(ctx, l.Journal, l.ledger(), away)
		if err != nil {
			return err
		}
		l.state.take(made)
	}
	switch {
	case len(taken) == 0: // only affinity keeps nodes and programs on their CPUs
		return l.Claim()
	case h.Version == 1:
		return l.prepareV1(h, taken)
	}
	return l.prepareV2(h, taken)
}

// recordThreads writes the account of threads as a step of a journal.
func recordThreads(j *journal.Journal, account string, write func() error) error {
	step := journal.Step{Kind: KindThreads, Path: account}
	return j.Make(step, func() (journal.Learnt, error) { return journal.Learnt{}, write() })
}

// keepOff makes the settings that keep other work off CPUs, as steps of a journal.
func keepOff(ctx context.Context, j *journal.Journal, ledger string, away Away) ([]tune.Result, error) {
	return tune.Applier{Journal: j, Ledger: ledger}.Apply(ctx, Settings(away))
}

// prepared is true if the journal has the record of threads, the first step of Prepare.
func (l *Lab) prepared() bool { return recorded(l.Journal) }

// recorded is true if a journal has the record of threads.
func recorded(j *journal.Journal) bool {
	return slices.ContainsFunc(j.Entries(), func(e journal.Entry) bool { return e.Kind == KindThreads })
}

// offLimits are the CPUs that interrupts and kernel threads must not use.
func (l *Lab) offLimits() tasks.Set {
	return tasks.Set(l.Plan.IsolatedCPUs).Plus(l.Plan.QuietCPUs)
}

// hostCPUs are the CPUs for everything else.
func (l *Lab) hostCPUs() tasks.Set { return l.Plan.HousekeepingCPUs }

// Settle makes the partitions of the nodes that have started, where each has its own, moves kernel threads off
// the isolated CPUs, and checks that all of it is in force. pids has the nodes' first processes.
func (l *Lab) Settle(ctx context.Context, pids map[string]int) error {
	if !plan.Partitions(l.Plan.Isolation) {
		return nil
	}
	h, err := Find(CPUSet)
	if err != nil {
		return err
	}
	if h.Version == 2 && remote(filepath.Join(h.Mount, l.Plan.Prefix)) {
		for _, n := range l.Plan.Nodes {
			pid, runs := pids[n.Name]
			if !n.Isolated || !runs {
				continue
			}
			if err := l.partitionNode(h, n, pid); err != nil {
				return err
			}
		}
	}
	cleared, err := tasks.Clear(l.accountPath(), l.Plan.Isolation == spec.IsolationIsolated)
	if err != nil {
		return err
	}
	l.state.cleared(cleared)
	return ctx.Err()
}

// partitionNode gives a node's group its own CPUs.
func (l *Lab) partitionNode(h cgroup.Hierarchy, n plan.Node, pid int) error {
	dirs, err := cgroup.DirsOf(pid)
	if err != nil {
		return fmt.Errorf("node %q: %w", n.Name, err)
	}
	dir := dirs[h.Mount]
	if !within(dir, filepath.Join(h.Mount, l.Plan.Prefix)) {
		return fmt.Errorf("node %q: its first process is in the control group %s, not in the lab's", n.Name, dir)
	}
	// The first process of a system container may have moved into a group below.
	dir = filepath.Join(h.Mount, Parent(l.Plan, n), n.HostName)
	if err := partition(h, dir, n.CPUs, l.Plan.Isolation); err != nil {
		return fmt.Errorf("node %q: %w", n.Name, err)
	}
	return nil
}

// checkPartition checks, without making anything, that the host can keep others off CPUs as far as
// the plan asks.
func checkPartition(p *plan.Plan) error {
	if !plan.Partitions(p.Isolation) {
		return nil
	}
	h, err := Find(CPUSet)
	if err != nil {
		return err
	}
	if h.Version == 1 {
		return checkOthersV1(h, p)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
