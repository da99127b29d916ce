package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"nines.dev/nines/lab/running"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/health"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/plan"
)

// watchedNode is what a watcher knows about one node.
type watchedNode struct {
	said     NodeHealth
	attempts health.Attempts
	// main is the process that the node ends with, and handle keeps it, to ask how it ended.
	main   proc.Identity
	handle *proc.Handle
	// started is when the watcher first saw it run; ended when it no longer did, and zero before.
	started, ended time.Time
	// checking is true while a check runs, and next is when the next is due.
	checking bool
	next     time.Time
	// due is when the node may be started again; zero while nothing wants it.
	due time.Time
}

// mainOf is the process that a node ends with.
func mainOf(n plan.Node, r *node.Running) proc.Identity {
	if n.Guest() {
		return r.QEMU
	}
	return r.Identity
}

// follow takes note of a node's process: a new one begins a new life.
func (w *watchedNode) follow(n plan.Node, r *node.Running, now time.Time) {
	main := mainOf(n, r)
	if main != w.main {
		w.forget()
		w.main, w.started, w.ended = main, now, time.Time{}
		w.said.PID, w.said.Health = r.PID, nil
		if n.Healthcheck != nil {
			w.said.Health = &health.Health{Status: health.Starting, Since: now}
			w.next = now
		}
		w.checking, w.due = false, time.Time{}
	}
	if w.handle == nil && w.ended.IsZero() {
		// Of one that has ended already, nothing is known. If a file descriptor is lacking, the next
		// look may have one.
		w.handle, _ = main.Open()
	}
	if w.ended.IsZero() && !main.Alive() {
		w.ended = now
	}
}

func (w *watchedNode) forget() {
	if w.handle != nil {
		_ = w.handle.Close()
		w.handle = nil
	}
}

// ending is how the node's process has ended.
func (w *watchedNode) ending() health.Ending {
	if w.handle == nil {
		return health.EndedUnknown
	}
	w.main.Reap() // if it is our child, its status is known only then
	status, known := w.handle.Status()
	switch {
	case !known:
		return health.EndedUnknown
	case status.Exited() && status.ExitStatus() == 0,
		// So ends the first process of a pid namespace that powers off (reboot_pid_ns in
		// kernel/pid_namespace.c).
		status.Signaled() && status.Signal() == unix.SIGINT:
		return health.EndedWell
	}
	return health.EndedBadly
}

// stillWanted is true for a node that is as it was when it was to be started again: someone may have
// stopped or started it since.
func (w *watchedNode) stillWanted(n plan.Node, r *node.Running) bool {
	return !r.Stopped && !r.Unfinished && mainOf(n, r) == w.main
}

// longestReaping is how long the end of a process may stay unknown because nobody has reaped it yet.
const longestReaping = time.Second

// reason says why the node is to be started again now; empty if it is not. It is called again and
// again, and lets the pauses between starts pass.
func (w *watchedNode) reason(n plan.Node, seen health.Seen, now time.Time) string {
	if !seen.Alive && seen.Ended == health.EndedUnknown && w.handle != nil && now.Sub(w.ended) < longestReaping && !seen.Stopped {
		return ""
	}
	why := health.Reason(n.Restart, seen)
	if why == "" {
		w.due = time.Time{}
		return ""
	}
	if w.due.IsZero() {
		w.due, w.attempts = w.attempts.Next(now)
	}
	if now.Before(w.due) {
		return ""
	}
	return why
}

// mostSaid is how much of a failed check's output is kept, in bytes.
const mostSaid = 400

// checkHealth runs a node's check once.
func (l *Lab) checkHealth(ctx context.Context, n plan.Node) health.Outcome {
	o := health.Outcome{Begun: time.Now()}
	bounded, cancel := context.WithTimeout(ctx, time.Duration(n.Healthcheck.Timeout))
	defer cancel()
	var said tail
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
	if text := said.line(); text != "" {
		o.Failure += ": " + text
	}
	return o
}

// tail keeps the last bytes that are written to it, however many there are.
type tail []byte

func (t *tail) Write(text []byte) (int, error) {
	*t = append(*t, text[max(0, len(text)-mostSaid):]...)
	*t = slices.Clone((*t)[max(0, len(*t)-mostSaid):])
	return len(text), nil
}

// line is what it keeps, as one line.
func (t *tail) line() string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(*t), "?")), " ")
}
