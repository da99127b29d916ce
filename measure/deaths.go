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
	"nines.dev/nines/result"
)

// Death is a trial in which a node, an engine or a link's program died.
type Death struct {
	Variables map[string]any
	Repeat    int
	Reason    string
	Fate      Fate
}

// Fate says what happened to a trial in which something died.
type Fate string

// A trial stays in the result as invalid if the generator, which has its figures, survived.
// Otherwise it is lost, and a resumed run measures it. A trial that others build on (a baseline, a
// maximum, a search's trial) is measured again at once.
const (
	Kept  Fate = "kept as invalid"
	Lost  Fate = "not measured"
	Again Fate = "measured again"
)

// DeathsError means that something died in an experiment. All other trials were measured, unless it
// gave up.
type DeathsError struct {
	Deaths []Death
	// GaveUp is true if the rest was not measured because too many trials in a row were lost.
	GaveUp bool
	// Alone is true if nothing else failed.
	Alone bool
}

func (e *DeathsError) Error() string {
	var text strings.Builder
	text.WriteString("parts of the network died:")
	for _, d := range e.Deaths {
		text.WriteString("\n  ")
		for _, name := range slices.Sorted(maps.Keys(d.Variables)) {
			fmt.Fprintf(&text, "%s=%s ", name, result.FormatVariable(d.Variables[name]))
		}
		fmt.Fprintf(&text, "repeat %d: %s (%s)", d.Repeat, d.Reason, d.Fate)
	}
	if e.GaveUp {
		fmt.Fprintf(&text, "\ngave up after %d lost trials in a row", patience)
	}
	return text.String()
}

// ExitCode is that of a failure, even if other runs were left out.
func (e *DeathsError) ExitCode() int { return exit.Failed }

// Whole is true if the result has all trials.
func (e *DeathsError) Whole() bool {
	return !e.GaveUp && !slices.ContainsFunc(e.Deaths, func(d Death) bool { return d.Fate == Lost })
}

// patience is how many trials in a row may be lost.
const patience = 3

// errGaveUp ends an experiment; its DeathsError says why.
var errGaveUp = errors.New("gave up")

// diedError means that a trial was measured but cannot be used by the step that needed it.
type diedError struct{ what string }

func (e *diedError) Error() string { return e.what }

// whole returns a diedError if something had died by the end of the last trial.
func (b *bench) whole() error {
	if len(b.died) == 0 {
		return nil
	}
	return &diedError{strings.Join(b.died, "; ")}
}

// deaths collects the deaths of an experiment so far.
type deaths struct {
	all    []Death
	inARow int // lost trials
	gaveUp bool
}

// once runs a step, which is lost if something dies in it. It returns only errors without a death;
// the next step gets an undamaged network.
func (d *deaths) once(ctx context.Context, b *bench, r run, repeat int, step func() error) error {
	return d.try(ctx, b, Death{Variables: r.variables, Repeat: repeat, Fate: Lost}, step)
}

// again repeats a step until nothing dies in it, or the experiment gives up.
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
	reason, happened := b.deathBehind(ctx, err)
	if reason == "" {
		return err
	}
	death.Reason = strings.ReplaceAll(reason, "\n", "; ") // one line per trial
	d.all = append(d.all, death)
	b.watch.Died(death)
	if err := b.mend(ctx, happened); err != nil {
		return err
	}
	if d.inARow++; d.inARow == patience {
		d.gaveUp = true
		return errGaveUp
	}
	return nil
}

// error is nil if nothing died.
func (d *deaths) error(alone bool) error {
	if len(d.all) == 0 {
		return nil
	}
	return &DeathsError{Deaths: d.all, GaveUp: d.gaveUp, Alone: alone}
}

// deathBehind is the reason of an error caused by a death, or by a node that was restarted or stopped,
// and what has happened to the lab; empty for other errors, and after a Ctrl-C.
func (b *bench) deathBehind(ctx context.Context, err error) (reason string, happened damage) {
	switch {
	case ctx.Err() != nil, errors.As(err, new(*result.WriteError)), errors.As(err, new(*exit.MissingError)):
		return "", damage{}
	case errors.As(err, new(*diedError)):
		return err.Error(), damage{}
	}
	if b.lab != nil {
		var unread error
		if happened, unread = b.damage(ctx); unread != nil {
			return "", damage{}
		}
	}
	faults := happened.faults()
	if len(faults) == 0 && !errors.Is(err, client.ErrGone) {
		return "", damage{}
	}
	reason = err.Error()
	for _, fault := range faults {
		reason += "; " + fault.Problem
	}
	return reason, happened
}
