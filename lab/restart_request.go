package lab

import (
	"context"
	"errors"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab/control"
	"nines.dev/nines/lab/state"
)

// Do is what is done to nodes.
type Do string

// What is done to nodes: Lab.Restart, Lab.Stop, Lab.Start.
const (
	DoRestart Do = "restart"
	DoStop    Do = "stop"
	DoStart   Do = "start"
)

// ChangeOptions say how nodes of a lab are changed, and by whom.
type ChangeOptions struct {
	RestartOptions
	// By is who asks for it, for the reason of a trial.
	By string
	// DuringMeasurement is true for someone who knows that the lab may be measured, and that this makes the
	// trial invalid.
	DuringMeasurement bool
}

// ChangeNodes restarts, stops or starts nodes of a lab. While the lab is measured, the process that measures
// it does so, and tells the trial; between two labs of a measurement it waits for the next.
func ChangeNodes(ctx context.Context, name string, do Do, names []string, options ChangeOptions) error {
	between := func(err error) bool {
		busy := new(state.BusyError)
		return errors.Is(err, control.ErrClosed) || errors.As(err, &busy) && busy.Measuring != "" // since just now
	}
	return untilFree(ctx, between, func(waiting context.Context) error {
		l, err := Open(name)
		if err != nil {
			return err
		}
		if _, err := l.restartable(names); err != nil && l.Finished() { // a measurement may be making it just now
			return err
		}
		request := control.Request{Nodes: names, Do: string(do), Kill: options.Kill, Fresh: options.Fresh, By: options.By}
		if measured, err := l.request(waiting, options.DuringMeasurement, request); measured {
			return err
		}
		return l.do(ctx, do, names, options.RestartOptions)
	})
}

// do does it as the process that holds the lab, or that takes its lock.
func (l *Lab) do(ctx context.Context, do Do, names []string, options RestartOptions) error {
	switch do {
	case DoRestart:
		return l.Restart(ctx, names, options)
	case DoStop:
		return l.Stop(ctx, names, options)
	case DoStart:
		return l.Start(ctx, names, options)
	}
	return exit.Wrongf("%q is nothing that can be done to nodes; use %s, %s or %s", do, DoRestart, DoStop, DoStart)
}
