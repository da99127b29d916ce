// Package exit says what an error means to whoever called nines: the exit code. A wrong
// call or file and what the host lacks each have a constructor; any other error is a
// failure, and needs none. A type of error is for callers that look at it by errors.As.
// It is pure, and imports nothing of the project.
package exit

import (
	"errors"
	"fmt"
	"os/exec"
)

// The exit codes of nines; docs/commands.md explains them.
const (
	Done   = 0
	Failed = 1
	Wrong  = 2 // the file or the call is wrong
	Lacks  = 3 // the host cannot do it
)

// Coder is an error that knows its exit code, for types of error that need one.
type Coder interface{ ExitCode() int }

type coded struct {
	error
	code int
}

func (c *coded) Unwrap() error { return c.error }
func (c *coded) ExitCode() int { return c.code }

// With gives an error an exit code; its text stays, and nil stays nil.
func With(code int, err error) error {
	if err == nil {
		return nil
	}
	return &coded{err, code}
}

// Wrongf is fmt.Errorf for a file or a call that cannot be right.
func Wrongf(format string, args ...any) error { return With(Wrong, fmt.Errorf(format, args...)) }

// Lacksf is fmt.Errorf for what the host cannot do. What it lacks as a named capability
// is a host.MissingError.
func Lacksf(format string, args ...any) error { return With(Lacks, fmt.Errorf(format, args...)) }

// Code is the exit code of an error, which is that of the first in it that knows one.
func Code(err error) int {
	var coder Coder
	if err == nil {
		return Done
	} else if !errors.As(err, &coder) {
		return Failed
	}
	// A program that nines ran and that failed has an exit code too, which says
	// nothing about nines.
	if _, child := coder.(*exec.ExitError); child {
		return Failed
	}
	return coder.ExitCode()
}
