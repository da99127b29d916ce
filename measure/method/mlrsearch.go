package method

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// mlrSource is the definition of the search.
const mlrSource = "RFC 9971"

// MLRsearch is the Multiple Loss Ratio search of RFC 9971: it finds the conditional throughput of
// several goals at once, with short trials while little is known.
type MLRsearch struct {
	Range
	Goals []Goal
	// Preceding is the number of coarser targets before each goal.
	Preceding int
	// Limit ends the search when its trials together have taken this long.
	Limit time.Duration
	// Settle is the pause between trials, Drain the wait for stragglers; with 0 the trial decides.
	Settle, Drain time.Duration
	// Under measures latency under load afterwards, at fractions of the goal UnderGoal; by default
	// the one named PDR (as fd.io CSIT does), or the first.
	Under     UnderLoad
	UnderGoal string
	// Quick says that the user shortened the values deliberately.
	Quick bool
}

// The defaults of fd.io CSIT, and the factor of quick.
const (
	mlrPreceding = 2
	mlrLimit     = 1200 * time.Second
	mlrQuick     = 10 // trials and sums are this much shorter
)

// MLRsearchOf returns the options for an experiment file: NDR and PDR if it has no goals.
func MLRsearchOf(m spec.Method, at Setting) (MLRsearch, error) {
	r, err := rangeOf(m, at)
	o := MLRsearch{Range: r, Preceding: mlrPreceding, Settle: time.Duration(m.Settle), Under: underLoadOf(m), Quick: m.Quick}
	goals := m.Goals
	if len(goals) == 0 {
		goals = []*spec.Goal{{Name: "ndr"}, {Name: "pdr"}}
	}
	for _, given := range goals {
		g := *given
		if g.Width == 0 {
			g.Width = m.Width
		}
		if g.FinalTrial == 0 {
			g.FinalTrial = m.Trial
		}
		goal := goalOf(g)
		if m.Quick {
			goal = goal.quick()
		}
		o.Goals = append(o.Goals, goal)
	}
	o.Limit = limitOf(o.Goals)
	return o, errors.Join(err, o.check(), o.Under.check())
}

// quick shortens a goal's times.
func (g Goal) quick() Goal {
	g.FinalTrial = max(g.FinalTrial/mlrQuick, 100*time.Millisecond)
	g.DurationSum = max(g.DurationSum/mlrQuick, g.FinalTrial)
	g.InitialTrial = min(g.InitialTrial, g.FinalTrial)
	return g
}

// limitOf gives each goal the time to decide about 20 loads.
func limitOf(goals []Goal) time.Duration {
	limit := time.Duration(0)
	for _, g := range goals {
		limit += 20 * g.DurationSum
	}
	return max(limit, mlrLimit)
}

// Search finds each goal's conditional throughput.
func (o MLRsearch) Search(ctx context.Context, trial Trial) (result.Search, error) {
	c := newCourse(string(spec.MethodMLRsearch), trial)
	c.settle, c.drain = o.Settle, o.Drain
	if err := errors.Join(o.check(), o.Under.check()); err != nil {
		return c.search, err
	}
	for _, g := range o.Goals {
		c.deviate(g.deviations(o.Quick)...)
	}
	err := o.measure(ctx, c)
	if err == nil {
		err = o.Under.measure(ctx, c, o.under(c.search.Findings))
	}
	return c.outcome(err)
}

// measure runs the search and adds a finding for each goal.
func (o MLRsearch) measure(ctx context.Context, c *course) error {
	hunt := o.hunt(c)
	err := hunt.run(ctx)
	for _, p := range hunt.pursuits {
		c.find(p.finding(hunt, err))
	}
	var limit *limitError
	if errors.As(err, &limit) {
		return nil
	}
	return err
}

// under picks the finding whose fractions are offered for latency under load.
func (o MLRsearch) under(findings []result.Finding) result.Finding {
	for _, name := range []string{o.UnderGoal, presets["pdr"].Name} {
		for _, f := range findings {
			if name != "" && f.Name == name {
				return f
			}
		}
	}
	return findings[0]
}

// check says what is wrong with the options.
func (o MLRsearch) check() error {
	if len(o.Goals) == 0 {
		return fmt.Errorf("method: mlrsearch needs a goal: ndr, pdr, rfc2544, tst009 or values of its own")
	}
	seen := map[string]bool{}
	for _, g := range o.Goals {
		if err := g.check(); err != nil {
			return err
		}
		if seen[g.Name] {
			return fmt.Errorf("method: two goals are called %s: give one another name", g.Name)
		}
		seen[g.Name] = true
	}
	if o.Limit <= 0 {
		return fmt.Errorf("method: mlrsearch needs a limit of its time, not %s", o.Limit)
	}
	return o.Range.check()
}

// deviations are the goal's deviations from the preset of its name. A goal that is no preset has no
// standard to deviate from.
func (g Goal) deviations(quick bool) []string {
	for _, standard := range presets {
		if standard.Name != g.Name {
			continue
		}
		source := mlrSource + ", goal " + g.Name
		return append(append(append(
			shorter(g.Name+": final trials", g.FinalTrial, standard.FinalTrial, source, quick),
			shorter(g.Name+": duration sum", g.DurationSum, standard.DurationSum, source, quick)...),
			differs(g.Name+": loss ratio", g.LossRatio, standard.LossRatio, source, quick)...),
			differs(g.Name+": exceed ratio", g.ExceedRatio, standard.ExceedRatio, source, quick)...)
	}
	if quick {
		return []string{fmt.Sprintf("%s: trials of %s and a duration sum of %s, %s", g.Name, g.FinalTrial, g.DurationSum, quickBecause)}
	}
	return nil
}
