package power

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Machines are the nodes. The methods may be called by any goroutine.
type Machines interface {
	// State says how a node is.
	State(node string) (State, error)
	// Do does something to a node, and returns when it is done. It gives up by itself, in a time that is
	// bounded. The last argument says who asked for it, in a few words.
	Do(ctx context.Context, node string, action Action, by string) error
	// Can is false for what the node cannot do at all. An error leaves it unknown.
	Can(node string, action Action) (bool, error)
}

// patience is how long a client waits for its answer: less than a second, after which ipmitool sends
// its request again (lanplus_intf_setup in ipmitool's lanplus.c).
const patience = 500 * time.Millisecond

// ErrBusy is a node that does something else just now.
var ErrBusy = errors.New("the node is busy; try again later")

// Controller does actions, one at a time to each node.
type Controller struct {
	machines Machines
	ctx      context.Context // of all actions
	say      func(string)
	patience time.Duration

	mu      sync.Mutex
	running map[string]*running
	boots   map[string]Boot
	work    sync.WaitGroup
}

type running struct {
	action Action
	done   chan struct{}
	err    error
}

// NewController returns one whose actions end with ctx; say receives a line for each that is done.
func NewController(ctx context.Context, machines Machines, say func(string)) *Controller {
	return &Controller{
		machines: machines, ctx: ctx, say: say, patience: patience,
		running: map[string]*running{}, boots: map[string]Boot{},
	}
}

// State says how a node is.
func (c *Controller) State(node string) (State, error) {
	s, err := c.machines.State(node)
	c.mu.Lock()
	defer c.mu.Unlock()
	s.Node, s.Changing = node, s.Changing || c.running[node] != nil
	return s, err
}

// Can is false for what a node cannot do at all.
func (c *Controller) Can(node string, action Action) (bool, error) {
	return c.machines.Can(node, action)
}

// Do begins an action, and waits for it for a moment. It returns an error if the action has failed by
// then; later failures are only said. A second client that asks for what is being done already is
// answered with that.
func (c *Controller) Do(node string, action Action, by string) error {
	can, err := c.machines.Can(node, action)
	if err != nil {
		return err
	}
	if !can {
		return ErrRefused
	}
	r, err := c.begin(node, action, by)
	if err != nil {
		return err
	}
	timer := time.NewTimer(c.patience)
	defer timer.Stop()
	select {
	case <-r.done:
		return r.err
	case <-timer.C:
		return nil
	}
}

func (c *Controller) begin(node string, action Action, by string) (*running, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.running[node]; r != nil {
		if r.action == action {
			return r, nil
		}
		return nil, ErrBusy
	}
	if err := c.ctx.Err(); err != nil {
		return nil, err
	}
	r := &running{action: action, done: make(chan struct{})}
	c.running[node] = r
	c.work.Go(func() { c.run(r, node, action, by) })
	return r, nil
}

func (c *Controller) run(r *running, node string, action Action, by string) {
	begun := time.Now()
	err := c.machines.Do(c.ctx, node, action, by)
	c.mu.Lock()
	r.err = err
	delete(c.running, node)
	if err == nil && action.Starts() {
		c.boots[node] = c.boots[node].used()
	}
	c.mu.Unlock()
	close(r.done)
	what := fmt.Sprintf("node %s: power %s, asked for by %s", node, action, by)
	if err != nil {
		c.say(fmt.Sprintf("%s, failed: %v", what, err))
		return
	}
	c.say(fmt.Sprintf("%s, took %v", what, time.Since(begun).Round(time.Millisecond)))
}

// Wait returns when no action runs.
func (c *Controller) Wait() { c.work.Wait() }
