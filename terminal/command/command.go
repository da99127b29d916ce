// Package command runs a command line as every program of nines does.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/refusal"
	"nines.dev/nines/kernel/signals"
	"nines.dev/nines/terminal"
)

// Run runs one command line and returns its exit code. A signal that ends the program cancels the context, so that a
// verb can clean up; a second one ends the process at once.
//
// A closed pipe ends no verb: what tells of progress does not look at the error of writing, and goes on in silence;
// a verb whose answer nobody reads fails, and says nothing of it, as a program does that SIGPIPE ends.
func Run(root *cobra.Command, args []string, stdout, stderr io.Writer) int {
	ctx, stop := signals.Context(context.Background())
	defer stop()
	signals.SurviveClosedPipes()
	root.SilenceUsage, root.SilenceErrors = true, true
	root.SetFlagErrorFunc(unknownFlag)
	root.DisableSuggestions = true // unknownCommand has its own
	refuseUnknownTopics(root)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	c, err := root.ExecuteContextC(ctx)
	if word, is := unknownWord(err); is && exit.Code(err) != exit.Wrong { // not yet refused
		err = unknownCommand(c, word)
	}
	if err == nil {
		return exit.Done
	}
	if !isUnread(err) {
		fmt.Fprintf(stderr, "nines: %s\n", terminal.PlainLines(explained(err))) // it may quote someone else's file
	}
	return exit.Code(err)
}

// explained is an error's text, with why the kernel can have refused what failed, and what to do where something has run
// out: a MissingError says so itself. Of the end of the context, which a user knows as Ctrl-C, the library says
// "context canceled".
func explained(err error) string {
	text := err.Error()
	if errors.Is(err, context.Canceled) {
		text = strings.ReplaceAll(text, context.Canceled.Error(), "interrupted")
	}
	if errors.As(err, new(*exit.MissingError)) {
		return text
	}
	more := refusal.Why(err)
	if full := errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT); more == "" && !full { // who meets a full disk says so
		more = exit.Remedy(err)
	}
	if !strings.Contains(text, more) { // true of an empty one
		text += "; " + more
	}
	return text
}

// isUnread is true if an error says only that nobody reads standard output.
func isUnread(err error) bool {
	switch e := any(err).(type) { // the error itself, as all that it wraps is looked at
	case *fs.PathError:
		return e.Path == os.Stdout.Name() && errors.Is(e.Err, unix.EPIPE)
	case interface{ Unwrap() error }:
		return isUnread(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			if !isUnread(one) {
				return false
			}
		}
		return true
	}
	return false
}
