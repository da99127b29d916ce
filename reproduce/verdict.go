package reproduce

import (
	"slices"

	"nines.dev/nines/exit"
	"nines.dev/nines/expect"
	"nines.dev/nines/report/expectation"
	"nines.dev/nines/result"
)

// Verdict says whether a claim holds.
type Verdict string

// The verdicts.
const (
	Held         Verdict = "holds"
	Different    Verdict = "differs"
	NotDecidable Verdict = "not decidable here"
)

// Judged is a claim with its verdict.
type Judged struct {
	Paper   string  `json:"-"`
	Claim   string  `json:"-"`
	Verdict Verdict `json:"verdict"`
	// Because are the reasons, in sentences: what was measured, or why nothing was decided.
	Because []string `json:"because"`
	// Expected are the expectations with what was measured; none where nothing was.
	Expected []Expected `json:"expected,omitempty"`
	// Early says why the measurement ended before all of its trials were made; empty: it did not.
	Early string `json:"early,omitempty"`
	// Result is the folder of the measurement, from that of the verdicts; empty: none.
	Result string `json:"result,omitempty"`
}

// Expected is an expectation of a claim and what decided it.
type Expected struct {
	Expectation string          `json:"expectation"`
	Decision    expect.Decision `json:"decision"`
	Cases       []Case          `json:"cases"`
}

// Case is a combination of the swept variables.
type Case struct {
	About    string          `json:"about,omitempty"`
	Decision expect.Decision `json:"decision"`
	Measured string          `json:"measured"`
	Why      string          `json:"why"`
}

// Unmeasured is the verdict on a claim that is not decidable, for these reasons.
func Unmeasured(of Claimed, reasons ...string) Judged {
	return Judged{Paper: of.Paper.ID, Claim: of.Claim.ID, Verdict: NotDecidable, Because: reasons}
}

// Judge decides a claim by a result of its run.
func Judge(of Claimed, r *result.Result, planned []map[string]any) (Judged, error) {
	var asked []expectation.Asked
	for _, text := range of.Claim.Holds {
		e, err := expect.Parse(text)
		if err != nil {
			return Judged{}, err // Read has checked it
		}
		asked = append(asked, expectation.Asked{Expectation: e})
	}
	o := expectation.Options{Result: r, Asked: asked, Planned: planned}
	all, err := expectation.Judge(o)
	if err == nil && all.Decision == expect.Undecided && of.Claim.AboutDisturbance {
		o.Result = withoutNoise(r)
		if disturbed, err := expectation.Judge(o); err == nil && disturbed.Decision == expect.Holds {
			all = disturbed
		}
	}
	if exit.Code(err) == exit.Wrong {
		return Unmeasured(of, err.Error()), nil // such as no trial of a combination that was skipped
	} else if err != nil {
		return Judged{}, err
	}
	j := Judged{Paper: of.Paper.ID, Claim: of.Claim.ID, Verdict: verdictOf(all.Decision)}
	for _, one := range all.List {
		e := Expected{Expectation: one.Text, Decision: one.Decision}
		for _, c := range one.Cases {
			k := Case{About: c.About(), Decision: c.Decision, Measured: c.Measured(one.Expectation), Why: c.Sentence(one.Expectation)}
			e.Cases = append(e.Cases, k)
			if c.Decision == one.Decision && one.Decision == all.Decision || all.Decision == expect.Holds {
				j.Because = append(j.Because, because(one.Text, k))
			}
		}
		j.Expected = append(j.Expected, e)
	}
	return j, nil
}

// withoutNoise is a result whose noisy trials count as clean ones.
func withoutNoise(r *result.Result) *result.Result {
	counted := *r
	counted.Summary.Trials = slices.Clone(r.Summary.Trials)
	for i := range counted.Summary.Trials {
		if t := &counted.Summary.Trials[i]; t.Verdict == result.Noisy {
			t.Verdict = result.Clean
		}
	}
	return &counted
}

func because(expectation string, c Case) string {
	text := expectation
	if c.About != "" {
		text += ", " + c.About
	}
	return text + ": " + c.Why
}

func verdictOf(d expect.Decision) Verdict {
	switch d {
	case expect.Holds:
		return Held
	case expect.Violated:
		return Different
	}
	return NotDecidable
}
