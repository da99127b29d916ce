package watch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nines.dev/nines/lab/health"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/plan"
)

// checkHealth runs a node's check once.
func checkHealth(ctx context.Context, l *running.Lab, n plan.Node) health.Outcome {
	o := health.Outcome{Begun: time.Now()}
	bounded, cancel := context.WithTimeout(ctx, time.Duration(n.Healthcheck.Timeout))
	defer cancel()
	var said node.Tail
	cmd, err := l.Command(bounded, n.Name, n.Healthcheck.Exec, running.ExecOptions{})
	if err == nil {
		cmd.Stdout, cmd.Stderr = &said, &said
		err = cmd.Run()
	}
	o.Ended = time.Now()
	switch {
	case err == nil:
		return o
	case errors.Is(bounded.Err(), context.DeadlineExceeded):
		o.Failure = fmt.Sprintf("it took longer than %v", n.Healthcheck.Timeout)
	default:
		o.Failure = err.Error()
	}
	if text := said.Line(); text != "" {
		o.Failure += ": " + text
		if why := node.Refusal(n, text); why != "" {
			o.Failure += "; " + why
		}
	}
	return o
}
