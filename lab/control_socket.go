package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"nines.dev/nines/lab/state"
	"nines.dev/nines/power"
)

// A lab that is measured is locked by the process that measures it. That process opens a door for those
// who restart, stop, start or switch nodes: a socket in the lab's folder, which only root enters. One
// request and one answer a connection, as JSON.

// errNoDoor is a lab that is measured and whose door is closed: it is being made, or taken down.
var errNoDoor = errors.New("the process that measures the lab takes no requests just now")

// doorRequest is what a visitor wants: an action of a power button with one node, or something done to
// nodes.
type doorRequest struct {
	Nodes  []string     `json:"nodes"`
	Action power.Action `json:"action,omitempty"`
	Do     Do           `json:"do,omitempty"`
	// Kill and Fresh are as in RestartOptions.
	Kill  bool   `json:"kill,omitempty"`
	Fresh bool   `json:"fresh,omitempty"`
	By    string `json:"by"`
}

type doorAnswer struct {
	Problem string `json:"problem,omitempty"`
}

const (
	// mostVisitors are served at a time; the others wait in the socket's queue.
	mostVisitors = 16
	// mostAsked is the longest request, in bytes.
	mostAsked = 4 << 10
	// askPatience is how long a visitor may take to say what it wants.
	askPatience = 5 * time.Second
)

// door is an open door.
type door struct {
	listener net.Listener
	cancel   context.CancelFunc
	visitors sync.WaitGroup
}

// openDoor lets others change the nodes of a lab that this process measures, until closeDoor.
func (l *Lab) openDoor(progress func(string)) error {
	path := l.State().Door()
	if err := state.AbsentIsFine(os.Remove(path)); err != nil {
		return fmt.Errorf("remove the door of an earlier measurement: %w", err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return fmt.Errorf("open the door to the lab's nodes: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	l.door = &door{listener: listener, cancel: cancel}
	if err := os.Chmod(path, 0o600); err != nil {
		l.closeDoor()
		return fmt.Errorf("open the door to the lab's nodes: %w", err)
	}
	l.door.visitors.Go(func() { l.receiveVisitors(ctx, l.door, progress) })
	return nil
}

// closeDoor returns when no caller is served.
func (l *Lab) closeDoor() {
	if l.door == nil {
		return
	}
	l.door.cancel()
	_ = l.door.listener.Close() // and removes the socket
	l.door.visitors.Wait()
	l.door = nil
}

func (l *Lab) receiveVisitors(ctx context.Context, d *door, progress func(string)) {
	places := make(chan struct{}, mostVisitors)
	for {
		conn, err := d.listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // such as no descriptor left
			select {
			case <-ctx.Done():
				return
			case <-time.After(powerEvery):
			}
			continue
		}
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			_ = conn.Close()
			return
		}
		d.visitors.Go(func() {
			defer func() { <-places }()
			defer conn.Close()
			var answer doorAnswer
			if err := l.serveVisitor(ctx, conn, progress); err != nil {
				answer.Problem = err.Error()
			}
			_ = conn.SetDeadline(time.Now().Add(askPatience))
			_ = json.NewEncoder(conn).Encode(answer) // one that has gone needs none
		})
	}
}

func (l *Lab) serveVisitor(ctx context.Context, conn net.Conn, progress func(string)) error {
	_ = conn.SetDeadline(time.Now().Add(askPatience))
	var asked doorRequest
	if err := json.NewDecoder(io.LimitReader(conn, mostAsked)).Decode(&asked); err != nil {
		return fmt.Errorf("the request cannot be read: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, powerPatience)
	defer cancel()
	if asked.Action == "" {
		return l.do(ctx, asked.Do, asked.Nodes, RestartOptions{
			Kill: asked.Kill, Fresh: asked.Fresh, Why: "asked for by " + asked.By, Progress: progress,
		})
	}
	node := strings.Join(asked.Nodes, " ") // it is one
	if !l.CanPower(node, asked.Action) {
		return l.cannotPower(node, asked.Action)
	}
	return l.power(ctx, node, asked.Action, asked.By, progress)
}

// visit has the process that measures the lab do something; measured is false if none does. Only a caller
// who may do it during a measurement does not get an error for one.
func (l *Lab) visit(ctx context.Context, may bool, request doorRequest) (measured bool, err error) {
	o := state.ReadOwner(l.State().Measured())
	switch {
	case o.PID == 0:
		return false, nil
	case !o.Alive():
		return true, fmt.Errorf("the measurement of lab %q has died; nines down %s removes what it left", l.Name(), l.Name())
	case !may:
		return true, &measuredError{&state.BusyError{Name: l.Name(), PID: o.PID, Measuring: o.Experiment, Since: o.Since}}
	}
	return true, knock(ctx, l.State(), request)
}

// measuredError is a lab that is measured, for someone who may not know it. It is no state.BusyError, as a
// measurement takes too long to wait for.
type measuredError struct{ busy *state.BusyError }

func (e *measuredError) Error() string {
	return e.busy.Error() + "; with --during-measurement it is done now, and the trial becomes invalid, with this reason"
}

// knock asks the process that measures a lab to do something, and waits until it is done.
func knock(ctx context.Context, s state.Folder, request doorRequest) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", s.Door())
	if err != nil {
		return fmt.Errorf("%w: %w", errNoDoor, err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := json.NewEncoder(conn).Encode(request); err != nil {
		return fmt.Errorf("%w: %w", errNoDoor, err)
	}
	var answer doorAnswer
	switch err := json.NewDecoder(conn).Decode(&answer); {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("the process that measures the lab has ended before it answered: %w", err)
	case answer.Problem != "":
		return errors.New(answer.Problem)
	}
	return nil
}
