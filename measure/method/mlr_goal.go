package method

import (
	"fmt"
	"math"
	"time"

	"nines.dev/nines/spec"
)

// Goal is a search goal of MLRsearch (RFC 9971): what counts as loss, how often it may be exceeded,
// and how long to measure a load before it counts.
type Goal struct {
	Name string
	// LossRatio is the highest loss ratio of a trial that counts as low loss.
	LossRatio float64
	// ExceedRatio is the fraction of the time that trials with more loss may have.
	ExceedRatio float64
	// FinalTrial is the length of trials that count in full, DurationSum how much of them a load
	// needs. InitialTrial is the length of the first, shorter ones.
	InitialTrial, FinalTrial, DurationSum time.Duration
	// Width is how close upper and lower bound must be, as a fraction of the upper.
	Width float64
}

// The presets by name. NDR and PDR have fd.io CSIT's values; RFC 2544 and TST 009 are the goals
// that RFC 9971 gives for those standards.
var presets = map[string]Goal{
	"ndr":     {Name: "NDR", LossRatio: 0, ExceedRatio: 0.5, InitialTrial: time.Second, FinalTrial: time.Second, DurationSum: 21 * time.Second, Width: DefaultWidth},
	"pdr":     {Name: "PDR", LossRatio: 0.005, ExceedRatio: 0.5, InitialTrial: time.Second, FinalTrial: time.Second, DurationSum: 21 * time.Second, Width: DefaultWidth},
	"rfc2544": {Name: "RFC 2544", LossRatio: 0, ExceedRatio: 0, InitialTrial: time.Second, FinalTrial: time.Minute, DurationSum: time.Minute, Width: DefaultWidth},
	"tst009":  {Name: "TST009", LossRatio: 0, ExceedRatio: 0.5, InitialTrial: time.Second, FinalTrial: time.Minute, DurationSum: 2 * time.Minute, Width: DefaultWidth},
}

// Preset returns a goal by its name in an experiment file: ndr, pdr, rfc2544, tst009.
func Preset(name string) (Goal, bool) {
	g, ok := presets[name]
	return g, ok
}

// goalOf converts a goal of an experiment file; unset values come from the preset of that name, or
// from NDR.
func goalOf(from spec.Goal) Goal {
	g, ok := presets[from.Name]
	if !ok {
		g = presets["ndr"]
		g.Name = from.Name
	}
	if from.LossRatio != nil {
		g.LossRatio = *from.LossRatio
	}
	if from.ExceedRatio != nil {
		g.ExceedRatio = *from.ExceedRatio
	}
	if from.FinalTrial > 0 {
		// As many trials as before, unless the sum is set too.
		g.DurationSum = time.Duration(float64(g.DurationSum) / float64(g.FinalTrial) * float64(from.FinalTrial))
		g.FinalTrial = time.Duration(from.FinalTrial)
	}
	if from.DurationSum > 0 {
		g.DurationSum = time.Duration(from.DurationSum)
	}
	if from.Width > 0 {
		g.Width = from.Width
	}
	g.InitialTrial = min(g.InitialTrial, g.FinalTrial)
	return g
}

// check says what is wrong with a goal.
func (g Goal) check() error {
	switch {
	case !(g.LossRatio >= 0 && g.LossRatio < 1):
		return fmt.Errorf("method: goal %s: a loss ratio is at least 0 and below 1, not %g", g.Name, g.LossRatio)
	case !(g.ExceedRatio >= 0 && g.ExceedRatio < 1):
		return fmt.Errorf("method: goal %s: an exceed ratio is at least 0 and below 1, not %g", g.Name, g.ExceedRatio)
	case !(g.Width > 0 && g.Width < 1):
		return fmt.Errorf("method: goal %s: a width is between 0 and 1, not %g", g.Name, g.Width)
	case g.InitialTrial <= 0 || g.FinalTrial < g.InitialTrial:
		return fmt.Errorf("method: goal %s: the final trials, of %s, must not be shorter than the first, of %s, nor 0", g.Name, g.FinalTrial, g.InitialTrial)
	case g.DurationSum < g.FinalTrial:
		return fmt.Errorf("method: goal %s: a duration sum of %s is less than one final trial, of %s", g.Name, g.DurationSum, g.FinalTrial)
	}
	return nil
}

// target is a goal, or one of the coarser ones before it.
type target struct {
	lossRatio, exceedRatio float64
	trial, sum             time.Duration
	steps                  int // most rungs between the bounds
}

// targets is the chain of targets that ends with the goal: the time grows from one initial trial to
// the duration sum in equal ratios. RFC 9971 suggests doubling the width for each preceding target.
// Here all have the goal's width, because a short trial costs little, and a long one at a load that
// will not be a bound costs much.
func (g Goal) targets(l ladder, preceding int) []target {
	chain := make([]target, preceding+1)
	for back := range chain {
		seconds := g.DurationSum.Seconds()
		if back > 0 {
			share := float64(back) / float64(preceding)
			seconds *= math.Pow(g.InitialTrial.Seconds()/seconds, share)
		}
		length := time.Duration(math.Round(seconds * float64(time.Second)))
		chain[preceding-back] = target{
			lossRatio: g.LossRatio, exceedRatio: g.ExceedRatio,
			trial: min(g.FinalTrial, length), sum: length,
			steps: l.steps(g.Width),
		}
	}
	return chain
}
