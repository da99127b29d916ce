package watch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"nines.dev/nines/kernel/await"
	"nines.dev/nines/lab/health"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/plan"
)

// Patience is how long the nodes of a plan may take at most until their checks have a verdict.
func Patience(p *plan.Plan) time.Duration {
	longest := time.Duration(0)
	for _, n := range p.Nodes {
		if n.Healthcheck != nil {
			longest = max(longest, health.Patience(*n.Healthcheck, node.KillDelay+watchEvery))
		}
	}
	return longest
}

// AwaitHealthy returns when all nodes with checks are healthy, but for those that someone has
// stopped. It gives up after limit, and when the checks have ended for good; the error says what each
// unhealthy node's last check said. progress receives the nodes that it waits for, whenever they
// change.
func AwaitHealthy(ctx context.Context, name string, limit time.Duration, progress func(string)) error {
	told := ""
	return await.Until(ctx, await.Condition{What: "all nodes are healthy", Within: limit, Every: watchEvery, Holds: func(context.Context) error {
		now, err := running.Open(name) // as another process may start nodes again
		if err != nil {
			return await.Never(err)
		}
		waiting, err := unhealthy(now)
		if err != nil || len(waiting) == 0 {
			return await.Never(err)
		}
		if err := watcherEnded(now); err != nil {
			return await.Never(err)
		}
		names := strings.Join(waiting, "; ")
		if names != told {
			told = names
			progress("waiting until all nodes are healthy: " + names)
		}
		return errors.New(names)
	}})
}

// unhealthy are the nodes that are not healthy, with the reason.
func unhealthy(l *running.Lab) ([]string, error) {
	list, err := Health(l)
	var waiting []string
	for _, h := range list {
		if h.Health == nil || l.Stopped(h.Node) || h.Status == health.Healthy && l.Alive(h.Node) {
			continue
		}
		text := fmt.Sprintf("%s is %s", h.Node, h.Status)
		if !l.Alive(h.Node) {
			text = h.Node + " is dead"
		}
		if h.Said != "" {
			text += " (" + h.Said + ")"
		}
		if h.Failed != "" {
			text += " (it could not be started again: " + h.Failed + ")"
		}
		waiting = append(waiting, text)
	}
	return waiting, err
}
