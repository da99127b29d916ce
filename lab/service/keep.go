package service

import (
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
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// Keep runs a service until it ends or ctx does. It is the keeper that the journal of the lab has.
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
}

// becomes writes that the service is another.
func (k *keeper) becomes(s Status, more func(*Record)) error {
	k.record.Status, k.record.Since = s, time.Now()
	more(&k.record)
	return state.WriteJSON(record(k.lab.State(), k.node.Name, k.service.Name), k.record)
}

func (k *keeper) keep(ctx context.Context) error {
	sought := ""
	if k.service.Ready != nil {
		sought = k.service.Ready.Output
	}
	said, err := openOutput(Log(k.lab.State(), k.node.Name, k.service.Name), sought)
	if err != nil {
		return err
	}
	if err := k.becomes(Starting, func(*Record) {}); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd, err := k.lab.Command(ctx, k.node.Name, k.service.Run, running.ExecOptions{
		Dir: k.service.Dir, Env: Environment(k.lab.Plan(), k.node, k.service), Scheduled: true,
	})
	if err != nil {
		return err
	}
	cmd.Stdout, cmd.Stderr = said, said
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SignalNum(string(k.service.Stop))) }
	ended := make(chan error, 1)
	if err := start(cmd, ended); err != nil {
		return fmt.Errorf("start %s: %w", k.service.Run[0], err)
	}
	// Whether it becomes ready and that it ends are waited for together.
	ready := make(chan error, 1)
	go func() { ready <- awaitReady(ctx, k.lab, k.node, k.service, said) }()
	for {
		select {
		case err := <-ended:
			return k.becomes(Ended, func(r *Record) { r.Ending, r.Said = ending(cmd, err), said.said() })
		case err := <-ready:
			ready = nil
			if err != nil && ctx.Err() == nil {
				cancel()
				if died := <-ended; errors.Is(died, exec.ErrWaitDelay) {
					err = fmt.Errorf("%w, and it left programs in the background", err)
				}
				return k.becomes(Ended, func(r *Record) { r.Failed, r.Said = "it was not ready: "+err.Error(), said.said() })
			}
			if err == nil {
				if err := k.becomes(Ready, func(*Record) {}); err != nil {
					return err
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

// ending says how a command ended.
func ending(cmd *exec.Cmd, err error) string {
	text := cmd.ProcessState.String()
	if errors.Is(err, exec.ErrWaitDelay) {
		text += ", and left programs in the background; a service stays in the foreground"
	}
	return text
}
