package reproduce

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"

	"nines.dev/nines/analyze"
	"nines.dev/nines/expect"
	"nines.dev/nines/report/expectation"
	"nines.dev/nines/report/figure"
)

// dataKey is the key by which expectations name published data: p99(data=v1).
const dataKey = "data"

// JudgeData decides the claims on published data.
func JudgeData(ctx context.Context, papers []Paper, h Host) ([]Judged, error) {
	var all []Judged
	for i := range papers {
		for j := range papers[i].Claims {
			c := &papers[i].Claims[j]
			if len(c.Data) == 0 || len(c.Missing(h)) > 0 {
				continue
			}
			of := Claimed{&papers[i], c}
			judged, err := judgeData(ctx, of, h.Data)
			if err != nil && ctx.Err() != nil {
				return all, ctx.Err()
			} else if err != nil {
				judged = Unmeasured(of, err.Error())
			}
			all = append(all, judged)
		}
	}
	return all, nil
}

// judgeData decides a claim by what published files have. Their values are known exactly, so there is no interval.
func judgeData(ctx context.Context, of Claimed, root string) (Judged, error) {
	sets := map[string]published{}
	for name, d := range of.Claim.Data {
		read, err := d.read(ctx, root)
		if err != nil {
			return Judged{}, err
		}
		sets[name] = read
	}
	j := Judged{Paper: of.Paper.ID, Claim: of.Claim.ID, Verdict: Held}
	decision := expect.Holds
	for _, text := range of.Claim.Holds {
		e, err := expect.Parse(text)
		if err != nil {
			return j, err // Read has checked it
		}
		d, c, err := decideData(e, sets)
		if err != nil {
			return j, fmt.Errorf("%s: %w", text, err)
		}
		decision = decision.Worse(d)
		j.Expected = append(j.Expected, Expected{Expectation: text, Decision: d, Cases: []Case{c}})
		j.Because = append(j.Because, because(text, c))
	}
	j.Verdict = verdictOf(decision)
	return j, nil
}

// decideData decides an expectation on published values: of the set that it names, or of the only one.
func decideData(e expect.Expectation, sets map[string]published) (expect.Decision, Case, error) {
	subject, err := valueOf(e.Subject, e, sets)
	if err != nil {
		return "", Case{}, err
	}
	bound := expect.Exact(e.Bound.Constant)
	if other := e.Bound.Other; other != nil {
		v, err := valueOf(*other, e, sets)
		if err != nil {
			return "", Case{}, err
		}
		bound = e.Bound.Bounded(expect.Exact(v))
	}
	exact := expect.Exact(subject)
	d := expect.Decide(exact, e.Operator, bound)
	c := expectation.Case{Decision: d, Subject: &exact, Bound: &bound, Because: "in the published data"}
	return d, Case{Decision: d, Measured: c.Measured(e), Why: c.Sentence(e)}, nil
}

func valueOf(q expect.Quantity, e expect.Expectation, sets map[string]published) (float64, error) {
	name := q.Value
	for _, c := range e.Where {
		if name == "" && c.Key == dataKey {
			name = c.Values[0]
		}
	}
	if name == "" && len(sets) == 1 {
		for only := range sets {
			name = only
		}
	}
	set, known := sets[name]
	switch {
	case !known:
		return 0, fmt.Errorf("%s is of no published file: write such as %s(data=NAME)", q, q.Name())
	}
	return set.tells(q)
}

// published is what a file tells of quantities.
type published interface {
	tells(q expect.Quantity) (float64, error)
}

// percentiles are points of a published curve: microseconds over 1/(1-p).
type percentiles []figure.Point

func (p percentiles) tells(q expect.Quantity) (float64, error) {
	switch {
	case q.Figure == expect.Most:
		return p.at(1), nil
	case q.P == 0 || q.Undisturbed || q.Intervals != "":
		return 0, fmt.Errorf("published percentiles do not tell %s", q.Name())
	}
	return p.at(q.P), nil
}

// at is the value, in nanoseconds, of the first point at the fraction or beyond: published percentiles are discrete.
func (p percentiles) at(fraction float64) float64 {
	last := 0.0
	for _, point := range p {
		last = 1000 * point.Y
		if fraction < 1 && point.X >= 1/(1-fraction)*(1-1e-9) {
			break
		}
	}
	return last
}

// read reads the published file, or evaluates the pair of captures.
func (d Data) read(ctx context.Context, root string) (published, error) {
	switch {
	case d.PacketRate != "":
		return readSeconds(root, d.PacketRate)
	case d.Percentiles != "":
		file, err := figure.ReadPublished(filepath.Join(root, d.Percentiles), "", "")
		if err != nil {
			return nil, err
		}
		if file.Kind != figure.HDR || len(file.Points()) == 0 {
			return nil, fmt.Errorf("%s has no percentiles", d.Percentiles)
		}
		return percentiles(file.Points()), nil
	}
	return d.analyzed(ctx, root)
}

// analyzed evaluates a pair of captures, as 'nines analyze' does.
func (d Data) analyzed(ctx context.Context, root string) (_ published, err error) {
	var list percentiles
	a, err := analyze.Analyze(ctx, analyze.Options{Pre: filepath.Join(root, d.Pre), Post: filepath.Join(root, d.Post)})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	for i, p := range analyze.PublishedPercentiles() {
		list = append(list, figure.Point{X: 1 / (1 - p.P), Y: float64(a.Percentiles[i]) / 1000})
	}
	return append(list, figure.Point{X: math.Inf(1), Y: float64(a.Worst[0].LatencyNs) / 1000}), nil
}
