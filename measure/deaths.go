package measure

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/lab"
	"nines.dev/nines/result"
)

// Death is a trial in which a node, an engine or a link's program died.
type Death struct {
	Variables map[string]any
	Repeat    int
	Reason    string
	Fate      Fate
}

// Fate is what became of a trial in which something died.
type Fate string

// A trial is kept as invalid where the generator was left, which has its figures; else it
// is lost, and a run that goes on with the result measures it. What others build on (a
// baseline, a maximum, a search's trial) is measured again at once.
const (
	Kept  Fate = "kept as invalid"
	Lost  Fate = "not measured"
	Again Fate = "measured again"
)

// DeathsError is that of an experiment in which something died, with all other trials
// measured unless it gave up.
type DeathsError struct {
	Deaths []Death
	// GaveUp is true where the rest was not measured, as too many trials were lost one
	// after the other.
	GaveUp bool
	// Alone is true where nothing else failed.
	Alone bool
}

func (e *DeathsError) Error() string {
	var text strings.Builder
	text.WriteString("something of the network died:")
	for _, d := range e.Deaths {
		text.WriteString("\n  ")
		for _, name := range slices.Sorted(maps.Keys(d.Variables)) {
			fmt.Fprintf(&text, "%s=%s ", name, result.FormatVariable(d.Variables[name]))
		}
		fmt.Fprintf(&text, "repeat %d: %s (%s)", d.Repeat, d.Reason, d.Fate)
	}
	if e.GaveUp {
		fmt.Fprintf(&text, "\n%d times in a row is not an accident, so the rest was given up", patience)
	}
	return text.String()
}

// ExitCode is that of a failure, whatever else was left out.
func (e *DeathsError) ExitCode() int { return exit.Failed }

// Whole is true if no trial is missing in the result.
func (e *DeathsError) Whole() bool {
	return !e.GaveUp && !slices.ContainsFunc(e.Deaths, func(d Death) bool { return d.Fate == Lost })
}

// patience is how many trials may be lost one after the other.
const patience = 3

// errGaveUp ends an experiment; its DeathsError tells why.
var errGaveUp = errors.New("gave up")

// diedError is a trial that was measured and is of no use to what was to build on it.
type diedError struct{ what string }

func (e *diedError) Error() string { return e.what }

// whole is a diedError if something had died by the end of the last trial.
func (b *bench) whole() error {
	if len(b.died) == 0 {
		return nil
	}
	return &diedError{strings.Join(b.died, "; ")}
}

// deaths are those of an experiment until now.
type deaths struct {
	all    []Death
	inARow int // lost trials
	gaveUp bool
}

// once does a step, which is lost if something dies in it. It returns the errors that are
// not of a death; the next step gets a network that is whole.
func (d *deaths) once(ctx context.Context, b *bench, r run, repeat int, step func() error) error {
	return d.try(ctx, b, Death{Variables: r.variables, Repeat: repeat, Fate: Lost}, step)
}

// again does a step until nothing dies in it, or the experiment gives up.
func (d *deaths) again(ctx context.Context, b *bench, r run, repeat int, step func() error) error {
	for {
		before := len(d.all)
		err := d.try(ctx, b, Death{Variables: r.variables, Repeat: repeat, Fate: Again}, step)
		if err != nil || len(d.all) == before || d.all[len(d.all)-1].Fate == Kept {
			return err
		}
	}
}

func (d *deaths) try(ctx context.Context, b *bench, death Death, step func() error) error {
	b.died = nil
	err := step()
	if err == nil {
		d.inARow = 0
		if len(b.died) > 0 {
			death.Reason, death.Fate = strings.Join(b.died, "; "), Kept
			d.all = append(d.all, death)
		}
		return nil
	}
	// A line for each trial.
	death.Reason = strings.ReplaceAll(b.deathBehind(ctx, err), "\n", "; ")
	if death.Reason == "" {
		return err
	}
	d.all = append(d.all, death)
	b.watch.Died(death)
	if err := b.abandon(ctx); err != nil {
		return err
	}
	if d.inARow++; d.inARow == patience {
		d.gaveUp = true
		return errGaveUp
	}
	return nil
}

// error is nil where nothing died.
func (d *deaths) error(alone bool) error {
	if len(d.all) == 0 {
		return nil
	}
	return &DeathsError{Deaths: d.all, GaveUp: d.gaveUp, Alone: alone}
}

// deathBehind is the reason of an error that came of a death; empty for others, and for
// those of a Ctrl-C.
func (b *bench) deathBehind(ctx context.Context, err error) string {
	switch {
	case ctx.Err() != nil, errors.As(err, new(*result.WriteError)), errors.As(err, new(*host.MissingError)):
		return ""
	case errors.As(err, new(*diedError)):
		return err.Error()
	}
	var faults []lab.Fault
	if b.lab != nil {
		var unread error
		if faults, unread = b.lab.Faults(); unread != nil {
			return ""
		}
	}
	if len(faults) == 0 && !errors.Is(err, client.ErrGone) {
		return ""
	}
	reason := err.Error()
	for _, fault := range faults {
		if !errors.Is(err, fault) { // which the error does not have already
			reason += "; " + fault.Problem
		}
	}
	return reason
}
