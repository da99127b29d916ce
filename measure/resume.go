package measure

import (
	"slices"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/result"
)

// interruptedReason begins the reason of an interrupted trial (see judge).
const interruptedReason = "interrupted after "

// isDone reports whether the result already has a combination and repeat, from an interrupted run.
func isDone(writer *result.Writer, r run, repeat int) bool {
	if !r.spec.Method.Plain() {
		return slices.ContainsFunc(writer.Searches(), func(s result.Search) bool {
			return s.Repeat == repeat && result.SameVariables(s.Variables, r.variables)
		})
	}
	return slices.ContainsFunc(writer.Summary().Trials, func(t result.Trial) bool {
		return t.Search == "" && t.Repeat == repeat && !cutOff(t) && result.SameVariables(t.Variables, r.variables)
	})
}

// cutOff reports whether a Ctrl-C ended the trial.
func cutOff(t result.Trial) bool {
	return slices.ContainsFunc(t.Reasons, func(reason string) bool { return strings.HasPrefix(reason, interruptedReason) })
}

// hasBaseline reports whether the result already has a baseline.
func hasBaseline(writer *result.Writer, when result.When, alone run) bool {
	return slices.ContainsFunc(writer.Baselines(), func(b result.Baseline) bool {
		return b.When == when && result.SameVariables(b.Variables, alone.variables)
	})
}

// Left is the number of trials and searches that the result still lacks.
func (e *Experiment) Left(writer *result.Writer) int {
	left := 0
	for _, step := range e.steps {
		if r := e.runs[step.Run]; r.skip == "" && !isDone(writer, r, step.Repeat) {
			left++
		}
	}
	return left
}

// CanResume returns why the rest of the result cannot be run, if so: on another host, or with other
// settings, it would be a different network.
func (e *Experiment) CanResume(writer *result.Writer) error {
	same, err := writer.SamePlans(e.Plans())
	if err != nil {
		return err
	}
	if !same {
		return exit.Wrongf("%s was measured with another plan than this host gives: continue it on the host where it began (its host.json), with the version of nines that began it", writer.Dir())
	}
	if e.Left(writer) == 0 {
		return exit.Wrongf("%s: nothing is left to be run", writer.Dir())
	}
	return nil
}
