// Package signals turns the signals by which a user or the system ends a program into the end of a context, so that
// the program can undo what it made. It changes how the whole process handles signals, and needs no privileges.
package signals

import (
	"context"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
)

// one is how long signals count as one: timeout, for example, sends a signal to a program and then to its process group.
const one = 500 * time.Millisecond

// Context ends with the first Ctrl-C, Ctrl-\ (SIGQUIT), SIGTERM or SIGHUP (the terminal is gone); a second signal, half a
// second later or more, ends the process at once. What the process was started to ignore it ignores: SIGHUP under nohup, Ctrl-C and Ctrl-\ in
// the background of a shell.
func Context(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(parent, ending()...)
	context.AfterFunc(ctx, func() { time.AfterFunc(one, stop) })
	return ctx, stop
}

// ending lists the signals that end a program.
func ending() []os.Signal {
	list := []os.Signal{unix.SIGTERM}
	if !signal.Ignored(unix.SIGHUP) {
		list = append(list, unix.SIGHUP)
	}
	// A shell has what it starts in the background ignore both (POSIX, shell, 2.11). Go tells it only of SIGINT, and
	// has replaced the other (sigInstallGoHandler, runtime/signal_unix.go).
	if signal.Ignored(unix.SIGINT) {
		signal.Ignore(unix.SIGQUIT)
		return list
	}
	return append(list, unix.SIGINT, unix.SIGQUIT)
}

// SurviveClosedPipes has writing to a pipe that nobody reads fail with EPIPE on every descriptor. Without it,
// Go ends the process at such a write to standard output or standard error, whatever there is to undo.
//
// Programs that the process starts are not affected: they inherit only what is ignored, and this is a handler.
func SurviveClosedPipes() { signal.Notify(make(chan os.Signal, 1), unix.SIGPIPE) }
