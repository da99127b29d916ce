package plan

import (
	"errors"
	"slices"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/spec"
)

// Impossible says which demand of the experiment this host cannot meet.
type Impossible struct {
	// Demand is who wants what: "node dut requests 4 CPUs".
	Demand string
	// Reason is why it cannot: "the host has 2, …".
	Reason string
	// Remedy is what would work.
	Remedy string
}

// Error gives demand, reason and remedy in one line.
func (e *Impossible) Error() string { return join(e.Demand, e.Reason, e.Remedy) }

// ExitCode is the exit code of nines for this error.
func (e *Impossible) ExitCode() int { return exit.Lacks }

// NoHardware is an Impossible where the host lacks a link's hardware: a sweep continues with its
// other kinds of link.
type NoHardware struct {
	Kind spec.LinkKind
	*Impossible
}

// Unwrap returns the Impossible.
func (e *NoHardware) Unwrap() error { return e.Impossible }

// hardwareOf turns an Impossible into a NoHardware of the link's kind.
func hardwareOf(l *link, err error) error {
	if impossible := new(Impossible); errors.As(err, &impossible) {
		return &NoHardware{l.kind, impossible}
	}
	return err
}

// Conflict says which parts of the experiment contradict each other on any host.
type Conflict struct {
	// Place is where: "node dut", "link in", "traffic".
	Place  string
	Reason string
	Remedy string
}

// Error gives place, reason and remedy in one line.
func (e *Conflict) Error() string { return join(e.Place+": "+e.Reason, e.Remedy) }

// ExitCode is the exit code of nines for this error.
func (e *Conflict) ExitCode() int { return exit.Wrong }

func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "; ")
}
