// Package exit turns an error into the exit code of nines. There is a constructor for wrong calls
// or files, and one for what the host lacks; any other error is a failure and needs none. Use an
// error type only where callers look at it with errors.As. The package is pure, and imports nothing
// of the project.
package exit

import (
	"errors"
	"fmt"
	"os/exec"
)

// The exit codes of nines; docs/reference/commands.md explains them.
const (
	Done   = 0
	Failed = 1
	Wrong  = 2 // the file or the call is wrong
	Lacks  = 3 // the host cannot do it
	// Of what was measured: an expectation is violated, or one is undecided and none is violated.
	Violated  = 4
	Undecided = 5
)

// Coder is an error that knows its exit code.
type Coder interface{ ExitCode() int }

type coded struct {
	error
	code int
}

func (c *coded) Unwrap() error { return c.error }
func (c *coded) ExitCode() int { return c.code }

// With gives an error an exit code; the text stays the same, and nil stays nil.
func With(code int, err error) error {
	if err == nil {
		return nil
	}
	return &coded{err, code}
}

// Wrongf is fmt.Errorf for a wrong file or call.
func Wrongf(format string, args ...any) error { return With(Wrong, fmt.Errorf(format, args...)) }

// Lacksf is fmt.Errorf for what the host cannot do. Use a MissingError for a named capability.
func Lacksf(format string, args ...any) error { return With(Lacks, fmt.Errorf(format, args...)) }

// Code returns the exit code of the first error in the chain that has one.
func Code(err error) int {
	var coder Coder
	if err == nil {
		return Done
	} else if !errors.As(err, &coder) {
		return Failed
	}
	// A failed child program has an exit code too, which says nothing about nines.
	if _, child := coder.(*exec.ExitError); child {
		return Failed
	}
	return coder.ExitCode()
}
