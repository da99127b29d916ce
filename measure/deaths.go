package measure

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/result"
)

// Death is a trial in which a node, an engine or a link's program died.
type Death struct {
	Variables map[string]any
	Repeat    int
	Reason    string
	// Kept is true of a trial that was measured all the same, and is in the result as
	// invalid. The others are what a run that goes on with the result measures.
	Kept bool
}

// DeathsError is that of an experiment in which something died, with all other trials
// measured.
type DeathsError struct {
	Deaths []Death
	// Of is how many trials and searches the experiment has.
	Of int
}

func (e *DeathsError) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "something of the network died in %d of %d trials:", len(e.Deaths), e.Of)
	for _, d := range e.Deaths {
		text.WriteString("\n  ")
		for _, name := range slices.Sorted(maps.Keys(d.Variables)) {
			fmt.Fprintf(&text, "%s=%s ", name, result.FormatVariable(d.Variables[name]))
		}
		fmt.Fprintf(&text, "repeat %d: %s", d.Repeat, d.Reason)
		if d.Kept {
			text.WriteString(" (kept as invalid)")
		}
	}
	return text.String()
}

// Lost is true if trials are not in the result.
func (e *DeathsError) Lost() bool {
	for _, d := range e.Deaths {
		if !d.Kept {
			return true
		}
	}
	return false
}

// patience is how many trials one after the other may be lost before the rest is given
// up: by then it is no accident.
const patience = 3

// deaths are those of an experiment until now.
type deaths struct {
	all []Death
	of  int
	// lost is how many of the latest trials were.
	lost int
}

// in looks whether something died in a trial that ended with err. The next gets a
// network that is whole. It returns the errors that are not of a death.
func (d *deaths) in(ctx context.Context, b *bench, r run, repeat int, err error) error {
	reason := strings.Join(b.died, "; ")
	if err != nil {
		reason = b.deathBehind(ctx, err)
	}
	switch {
	case reason == "":
		d.lost = 0
		return err
	case err == nil:
		d.lost = 0
		d.all = append(d.all, Death{Variables: r.variables, Repeat: repeat, Reason: reason, Kept: true})
		return nil
	}
	death := Death{Variables: r.variables, Repeat: repeat, Reason: reason}
	d.all = append(d.all, death)
	b.watch.Died(death)
	if d.lost++; d.lost == patience {
		return d.error()
	}
	return b.abandon(ctx)
}

// error is nil where nothing died.
func (d *deaths) error() error {
	if len(d.all) == 0 {
		return nil
	}
	return &DeathsError{Deaths: d.all, Of: d.of}
}

// deathBehind is the reason of an error that came of a death; empty for others, and for
// those of a Ctrl-C.
func (b *bench) deathBehind(ctx context.Context, err error) string {
	if ctx.Err() != nil || b.lab == nil {
		return ""
	}
	faults, unread := b.lab.Faults()
	if unread != nil || len(faults) == 0 && !errors.Is(err, client.ErrGone) {
		return ""
	}
	reason := err.Error()
	for _, fault := range faults {
		if !strings.Contains(reason, fault) {
			reason += "; " + fault
		}
	}
	return reason
}
