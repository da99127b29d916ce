package method

import "nines.dev/nines/spec"

// Step is one trial of a sweep: a run (an index into the sweep's cross product) and the number of
// its repeat, from 1.
type Step struct {
	Run    int
	Repeat int
}

// Sweep orders the trials of runs × repeats. Interleaved goes through all runs before it repeats
// any, so that a drifting host affects all of them alike and a later comparison is fair; sequential
// finishes one run first, which rebuilds the network less often.
func Sweep(runs, repeats int, order spec.Order) []Step {
	steps := make([]Step, 0, runs*repeats)
	if order == spec.OrderSequential {
		for run := range runs {
			for repeat := range repeats {
				steps = append(steps, Step{Run: run, Repeat: repeat + 1})
			}
		}
		return steps
	}
	for repeat := range repeats {
		for run := range runs {
			steps = append(steps, Step{Run: run, Repeat: repeat + 1})
		}
	}
	return steps
}
