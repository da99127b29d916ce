package plan

import (
	"slices"

	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

// WaitTogether lets the engines of all runs of a sweep sleep where those of one must: else a difference between two runs
// could be the receiver's wake-up.
func WaitTogether(runs []spec.Run, inv *host.Inventory) []spec.Run {
	if len(runs) < 2 {
		return runs
	}
	polls, sleeps := false, false
	for _, run := range runs {
		if !waitsByPlan(run.Experiment) {
			continue
		}
		may := false
		if p, err := decided(waiting(run.Experiment, spec.WaitSpin), inv, nil); err == nil {
			may = p.mustSleep() == ""
		}
		polls, sleeps = polls || may, sleeps || !may
		if polls && sleeps {
			return asleep(runs)
		}
	}
	return runs
}

func asleep(runs []spec.Run) []spec.Run {
	runs = slices.Clone(runs)
	for i := range runs {
		runs[i].Experiment = waiting(runs[i].Experiment, spec.WaitBlock)
	}
	return runs
}
