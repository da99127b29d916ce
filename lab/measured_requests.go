package lab

import (
	"context"
	"fmt"
	"strings"

	"nines.dev/nines/lab/control"
	"nines.dev/nines/lab/state"
)

// takeRequests lets others change the nodes of a lab that this process measures, until its control socket is closed.
func (l *Lab) takeRequests(progress func(string)) (err error) {
	l.control, err = control.Listen(l.State().ControlSocket(), func(ctx context.Context, asked control.Request) error {
		ctx, cancel := context.WithTimeout(ctx, powerPatience)
		defer cancel()
		if asked.Action == "" {
			return l.do(ctx, Do(asked.Do), asked.Nodes, RestartOptions{
				Kill: asked.Kill, Fresh: asked.Fresh, Why: "asked for by " + asked.By, Progress: progress,
			})
		}
		node := strings.Join(asked.Nodes, " ") // it is one
		if !l.CanPower(node, asked.Action) {
			return l.cannotPower(node, asked.Action)
		}
		return l.power(ctx, node, asked.Action, asked.By, progress)
	})
	return err
}

// request has the process that measures the lab do something; measured is false if none does. Only a caller
// who may do it during a measurement does not get an error for one.
func (l *Lab) request(ctx context.Context, may bool, request control.Request) (measured bool, err error) {
	o := state.ReadOwner(l.State().Measured())
	switch {
	case o.PID == 0:
		return false, nil
	case !o.Alive():
		return true, fmt.Errorf("the measurement of lab %q has died; nines down %s removes what it left", l.Name(), l.Name())
	case !may:
		return true, &measuredError{&state.BusyError{Name: l.Name(), PID: o.PID, Measuring: o.Experiment, Since: o.Since}}
	}
	return true, control.Ask(ctx, l.State().ControlSocket(), request)
}

// measuredError is a lab that is measured, for someone who may not know it. It is no state.BusyError, as a
// measurement takes too long to wait for.
type measuredError struct{ busy *state.BusyError }

func (e *measuredError) Error() string {
	return e.busy.Error() + "; with --during-measurement it is done now, and the trial becomes invalid, with this reason"
}
