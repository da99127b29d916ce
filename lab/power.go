package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/plan"
	"nines.dev/nines/power"
)

// powerPatience bounds how long an action waits for others that change the lab, and takes itself. A
// container with systemd, and a virtual machine that boots, take long.
const powerPatience = 5 * time.Minute

// powerEvery is how often it looks if the lab is free.
const powerEvery = 100 * time.Millisecond

// PowerState says if a node runs.
func (l *Lab) PowerState(nodeName string) (power.State, error) {
	_, r, err := l.node(nodeName)
	if err != nil {
		return power.State{}, err
	}
	return power.State{Node: nodeName, On: l.Alive(nodeName), Changing: r.Unfinished}, nil
}

// CanPower is false for what a node cannot do at all.
func (l *Lab) CanPower(nodeName string, action power.Action) bool {
	n := findNode(l.plan, nodeName)
	if n == nil || !n.Runtime.Descriptor().Restarts() {
		return false
	}
	return action != power.Diag || n.Guest()
}

// Power does something to a node of a lab, as a management controller would; by says who asked for it.
// While the lab is measured, the process that measures it does it, and tells the trial; that needs the
// section power in the lab's file. It waits while others change the lab, and gives up after some time.
func Power(ctx context.Context, name, nodeName string, action power.Action, by string, progress func(string)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, powerPatience, fmt.Errorf("it took longer than %v", powerPatience))
	defer cancel()
	for {
		err := powerOnce(ctx, name, nodeName, action, by, progress)
		if busy := new(BusyError); err == nil || !errors.As(err, &busy) && !errors.Is(err, errNoDoor) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		case <-time.After(powerEvery):
		}
	}
}

func powerOnce(ctx context.Context, name, nodeName string, action power.Action, by string, progress func(string)) error {
	l, err := Open(name)
	if err != nil {
		return err
	}
	if !l.CanPower(nodeName, action) {
		return l.cannotPower(nodeName, action)
	}
	if action == power.Diag { // it changes nothing, so it needs no lock
		return l.power(ctx, nodeName, action, by, progress)
	}
	if o := readOwner(l.state.measured()); o.PID != 0 {
		switch {
		case !o.alive():
			return fmt.Errorf("the measurement of lab %q has died; nines down %s removes what it left", name, name)
		case l.plan.Power == nil:
			return &measuredError{&BusyError{Name: name, PID: o.PID, Measuring: o.Experiment, Since: o.Since}}
		}
		return knock(ctx, l.state, doorRequest{Node: nodeName, Action: action, By: by})
	}
	return l.power(ctx, nodeName, action, by, progress)
}

// measuredError is a lab that lets nobody in while it is measured. It is no BusyError, as a measurement
// takes too long to wait for.
type measuredError struct{ busy *BusyError }

func (e *measuredError) Error() string {
	return e.busy.Error() + "; with the section power in its file, its nodes can be switched during a trial"
}

// cannotPower says why a node cannot do something.
func (l *Lab) cannotPower(nodeName string, action power.Action) error {
	n, _, err := l.node(nodeName)
	if err != nil {
		return err
	}
	if action == power.Diag && n.Runtime.Descriptor().Restarts() {
		return exit.Wrongf("node %q: %w: a diagnostic interrupt is for the kernel of a virtual machine, and a node of runtime %s has that of the host; nines exec %s -- kill -QUIT PID asks a program",
			nodeName, power.ErrRefused, n.Runtime, nodeName)
	}
	_, err = l.restartable([]string{nodeName})
	return err
}

// power does something to a node: under the lab's lock, or as the process that measures the lab.
func (l *Lab) power(ctx context.Context, nodeName string, action power.Action, by string, progress func(string)) error {
	options := RestartOptions{Why: fmt.Sprintf("power %s, asked for by %s", action, by), Progress: progress}
	names := []string{nodeName}
	switch action {
	case power.On:
		return l.Start(ctx, names, options)
	case power.Off, power.Soft:
		options.Kill, options.ShutDown = action == power.Off, action == power.Soft
		options.only = func(n plan.Node, r *node.Running) bool {
			return !r.Stopped || r.Unfinished || node.RuntimeOf(n).Alive(r)
		}
		if err := l.Stop(ctx, names, options); !errors.Is(err, errOvertaken) { // it is off
			return err
		}
		return nil
	case power.Reset, power.Cycle, power.Restart:
		options.Kill, options.ShutDown = action != power.Restart, action == power.Restart
		return l.Restart(ctx, names, options)
	case power.Diag:
		n, r, err := l.node(nodeName)
		if err != nil {
			return err
		}
		return l.place("").Interrupt(ctx, n, r)
	}
	return exit.Wrongf("power %q is not known; use one of %v", action, power.Actions())
}
