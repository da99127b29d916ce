package watch

import (
	"time"

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

// follow takes note of a node's process: a new one begins a new life.
func (w *watchedNode) follow(n plan.Node, r *node.Running, now time.Time) {
	main := r.Main(n)
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

// ending is how the node's process has ended, as the kernel says, or what keeps the output of a container has noted.
func (w *watchedNode) ending(noted string) health.Ending {
	if w.handle != nil {
		w.main.Reap() // if it is our child, its status is known only then
		if status, known := w.handle.Status(); known && status.Signaled() {
			noted = proc.EndedBy(status.Signal())
		} else if known {
			noted = proc.EndedWith(status.ExitStatus())
		}
	}
	switch noted {
	case "":
		return health.EndedUnknown
	case proc.EndedWith(0),
		// So ends the first process of a pid namespace that powers off (reboot_pid_ns in
		// kernel/pid_namespace.c).
		proc.EndedBy(unix.SIGINT):
		return health.EndedWell
	}
	return health.EndedBadly
}

// stillWanted is true for a node that is as it was when it was to be started again: someone may have
// stopped or started it since.
func (w *watchedNode) stillWanted(n plan.Node, r *node.Running) bool {
	return !r.Stopped && !r.Unfinished && r.Main(n) == w.main
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
