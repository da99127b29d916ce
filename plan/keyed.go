package plan

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"nines.dev/nines/exit"
)

// keyed is an error with the steps to the key of the file that it is about. A plan is made without
// the file; spec.Run.Located adds the place.
type keyed struct {
	error
	steps []string
}

func (k *keyed) Unwrap() error { return k.error }

// Key returns the steps from the root of the file to the key, which the file may not contain.
func (k *keyed) Key() []string { return k.steps }

// at gives an error its key, unless it has one that is more exact.
func at(err error, steps []string) error {
	var has interface{ Key() []string }
	if err == nil || errors.As(err, &has) {
		return err
	}
	return &keyed{err, steps}
}

// steps lead to a key of a node, of its polling threads, or of a link's program.
func (n *node) steps(keys ...string) []string {
	switch {
	case n.link != nil:
		return n.link.steps(append([]string{"switch"}, keys...)...)
	case n.pollsFor != nil:
		return n.pollsFor.steps(append([]string{"polling"}, keys...)...)
	}
	return append([]string{"topology", "nodes", n.name}, keys...)
}

// steps lead to a key of a link.
func (l *link) steps(keys ...string) []string {
	return append([]string{"topology", "links", strconv.Itoa(l.index)}, keys...)
}

// Refusals are several demands that cannot be met, each for its own reason.
type Refusals []error

// Error prints one per line, after a heading.
func (r Refusals) Error() string {
	lines := []string{fmt.Sprintf("%d errors:", len(r))}
	for _, err := range r {
		lines = append(lines, err.Error())
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the single errors, for errors.As.
func (r Refusals) Unwrap() []error { return r }

// Each returns the single refusals in an error of Make.
func Each(err error) []error {
	var several Refusals
	if errors.As(err, &several) {
		return several
	}
	return []error{err}
}

// ExitCode is the code of a wrong file if one of them has it, as that is to be corrected first.
func (r Refusals) ExitCode() int {
	var conflict *Conflict
	if errors.As(r, &conflict) {
		return conflict.ExitCode()
	}
	return exit.Lacks
}

// refuse notes a demand that cannot be met, so that the plan can go on and find others.
func (w *work) refuse(err error) { w.refused = append(w.refused, err) }

// errRefused ends a plan after refuse has noted something.
var errRefused = errors.New("refused")

// unlessRefused returns an error if anything was refused, for steps that need all earlier demands
// met.
func (w *work) unlessRefused() error {
	if len(w.refused) > 0 {
		return errRefused
	}
	return nil
}

// refusal returns all that was refused, with the error that ended the plan.
func (w *work) refusal(last error) error {
	if !errors.Is(last, errRefused) {
		w.refuse(last)
	}
	if len(w.refused) == 1 {
		return w.refused[0]
	}
	return Refusals(w.refused)
}
