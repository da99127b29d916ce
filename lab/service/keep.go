package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab/health"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// Keep runs a service until it ends for good or ctx does. It is the keeper that the journal of the lab has.
func Keep(ctx context.Context, labName, nodeName, name string) error {
	l, err := running.Open(labName)
	if err != nil {
		return err
	}
	n, _, err := l.Node(nodeName)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(n.Services, func(s spec.Service) bool { return s.Name == name })
	if i < 0 {
		return exit.Wrongf("node %q of lab %q has no service %q", nodeName, labName, name)
	}
	k := keeper{lab: l, node: n, service: n.Services[i]}
	k.record = Record{Status: Starting, Started: time.Now(), Since: time.Now()}
	err = k.keep(ctx)
	if err != nil && k.record.Status != Ended {
		return errors.Join(err, k.becomes(Ended, func(r *Record) { r.Failed = err.Error() }))
	}
	return err
}

type keeper struct {
	lab     *running.Lab
	node    plan.Node
	service spec.Service
	record  Record
	said    *output
	// served is true once it was ready.
	served bool
}

// becomes writes that the service is another.
func (k *keeper) becomes(s Status, more func(*Record)) error {
	k.record.Status, k.record.Since = s, time.Now()
	more(&k.record)
	return state.WriteJSON(record(k.lab.State(), k.node.Name, k.service.Name), k.record)
}

// end is how a run of a service ended.
type end struct {
	// well is true for the exit code 0.
	well bool
	// ending is how it ended, and failed why it was given up before.
	ending, failed string
}

// keep runs the service again as its policy says.
func (k *keeper) keep(ctx context.Context) error {
	sought := ""
	if k.service.Ready != nil {
		sought = k.service.Ready.Output
	}
	var err error
	if k.said, err = openOutput(Log(k.lab.State(), k.node.Name, k.service.Name), sought); err != nil {
		return err
	}
	var attempts health.Attempts
	for {
		e, err := k.run(ctx)
		if err != nil {
			return err
		}
		ended := time.Now()
		note := func(r *Record) {
			r.Ending, r.Failed, r.Said = e.ending, e.failed, k.said.said()
			if ctx.Err() == nil {
				r.Ends++
				r.LastEnd = ended
			}
		}
		due, before := attempts.Next(ended)
		// A start that fails from the beginning is told at once: `up` waits for it.
		if ctx.Err() != nil || !k.served || !again(k.service, e.well, before.InARow) {
			return k.becomes(Ended, note)
		}
		if err := k.becomes(Restarting, note); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return k.becomes(Ended, func(*Record) {})
		case <-time.After(time.Until(due)):
		}
		k.said.again()
		attempts = before.Made(time.Now())
	}
}

// mostRestarts is how often in a row on-failure starts a service again where its file does not say.
const mostRestarts = 5

// again says whether a service that has ended starts again; inARow is how often it has without a good run. It is pure.
func again(s spec.Service, well bool, inARow int) bool {
	switch s.Restart {
	case spec.RestartAlways:
		return true
	case spec.RestartOnFailure:
		return !well && inARow < cmp.Or(s.Restarts, mostRestarts)
	}
	return false
}

// run runs the service once.
func (k *keeper) run(ctx context.Context) (end, error) {
	if err := k.becomes(Starting, func(*Record) {}); err != nil {
		return end{}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd, err := k.lab.Command(ctx, k.node.Name, k.service.Run, running.ExecOptions{
		Dir: k.service.Dir, Env: Environment(k.lab.Plan(), k.node, k.service), CPUs: k.node.ServiceCPUs[k.service.Name],
		User: k.service.User, Scheduled: true, Scheduling: k.service.Scheduling,
	})
	if err != nil {
		return end{}, err
	}
	cmd.Stdout, cmd.Stderr = k.said, k.said
	kills := isolate.MemoryKills(k.lab.Plan(), k.node)
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SignalNum(string(k.service.Stop))) }
	ended := make(chan error, 1)
	if err := start(cmd, ended); err != nil {
		return end{}, fmt.Errorf("start %s: %w", k.service.Run[0], err)
	}
	// Whether it becomes ready and that it ends are waited for together.
	ready := make(chan error, 1)
	go func() { ready <- awaitReady(ctx, k.lab, k.node, k.service, k.said) }()
	for {
		select {
		case err := <-ended:
			text := ending(cmd, err)
			if err != nil {
				text += memoryWords(isolate.MemoryKills(k.lab.Plan(), k.node)-kills, k.node)
			}
			return end{well: err == nil, ending: text}, nil
		case err := <-ready:
			ready = nil
			if err != nil && ctx.Err() == nil {
				cancel()
				if died := <-ended; errors.Is(died, exec.ErrWaitDelay) {
					err = fmt.Errorf("%w, and it left programs in the background", err)
				}
				return end{failed: "nines ended it, as it was not ready: " + err.Error()}, nil
			}
			if err == nil {
				k.served = true
				if err := k.becomes(Ready, func(*Record) {}); err != nil {
					return end{}, err
				}
			}
		}
	}
}

// start starts a command that the kernel ends when this process does. The signal comes when the starting thread ends
// (prctl(2)), so that thread waits.
func start(cmd *exec.Cmd, ended chan<- error) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = node.KillDelay
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			ended <- cmd.Wait()
		}
	}()
	return <-started
}

// memoryWords say that the kernel has killed processes of the node meanwhile, as memory had run out; empty if it has not.
// The signal alone does not tell who sent it.
func memoryWords(kills int, n plan.Node) string {
	if kills <= 0 {
		return ""
	}
	limit := "raise the limits of the control groups above it"
	if n.MemoryBytes > 0 {
		limit = fmt.Sprintf("raise the node's memory, which is %d MiB", n.MemoryBytes>>20)
	}
	if kills == 1 {
		return "; memory had run out, and the kernel killed a process of its node (oom_kill): " + limit
	}
	return fmt.Sprintf("; memory had run out, and the kernel killed %d processes of its node (oom_kill): %s", kills, limit)
}

// ending says how a command ended.
func ending(cmd *exec.Cmd, err error) string {
	text := cmd.ProcessState.String()
	if errors.Is(err, exec.ErrWaitDelay) {
		text += ", and left programs in the background; a service stays in the foreground"
	}
	return text
}
