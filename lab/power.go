package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/await"
	"nines.dev/nines/lab/control"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/state"
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
	_, r, err := l.Node(nodeName)
	if err != nil {
		return power.State{}, err
	}
	return power.State{Node: nodeName, On: l.Alive(nodeName), Changing: r.Unfinished}, nil
}

// CanPower is false for what a node cannot do at all.
func (l *Lab) CanPower(nodeName string, action power.Action) bool {
	n := l.Index().Node(nodeName)
	if n == nil || !n.Runtime.Descriptor().Restarts() {
		return false
	}
	return action != power.Diag || n.Guest()
}

// PowerOptions say who switches a node.
type PowerOptions struct {
	// By is the client that requests it.
	By string
	// DuringMeasurement is true for someone who knows that the lab may be measured, and that this makes the
	// trial invalid. So it is for the power section of the lab's file.
	DuringMeasurement bool
	// Progress receives a few words on each step that takes long.
	Progress func(string)
}

// Power does something to a node of a lab, as a management controller would. While the lab is measured, the
// process that measures it does it, and tells the trial. It waits while others change the lab, and gives up
// after some time.
func Power(ctx context.Context, name, nodeName string, action power.Action, options PowerOptions) error {
	busy := func(err error) bool {
		return errors.As(err, new(*state.BusyError)) || errors.Is(err, control.ErrClosed)
	}
	return untilFree(ctx, busy, func(ctx context.Context) error {
		return powerOnce(ctx, name, nodeName, action, options)
	})
}

// untilFree does something again while others are in the way, and gives up after powerPatience.
func untilFree(ctx context.Context, busy func(error) bool, do func(context.Context) error) error {
	return await.Until(ctx, await.Condition{What: "the lab is free", Within: powerPatience, Every: powerEvery, Holds: func(ctx context.Context) error {
		err := do(ctx)
		if busy(err) {
			return err
		}
		return await.Never(err)
	}})
}

func powerOnce(ctx context.Context, name, nodeName string, action power.Action, options PowerOptions) error {
	l, err := Open(name)
	if err != nil {
		return err
	}
	if !l.CanPower(nodeName, action) {
		return l.cannotPower(nodeName, action)
	}
	if action == power.Diag { // it changes nothing, so it needs no lock
		return l.power(ctx, nodeName, action, options.By, options.Progress)
	}
	measured, err := l.request(ctx, l.Plan().Power != nil || options.DuringMeasurement, control.Request{Nodes: []string{nodeName}, Action: action, By: options.By})
	if measured {
		return err
	}
	return l.power(ctx, nodeName, action, options.By, options.Progress)
}

// cannotPower says why a node cannot do something.
func (l *Lab) cannotPower(nodeName string, action power.Action) error {
	n, _, err := l.Node(nodeName)
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
		n, r, err := l.Node(nodeName)
		if err != nil {
			return err
		}
		return l.Place("").Interrupt(ctx, n, r)
	}
	return exit.Wrongf("power %q is not known; use one of %v", action, power.Actions())
}
