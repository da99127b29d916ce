package expectation

import (
	"nines.dev/nines/expect"
)

// Schema names the format of the decisions in JSON.
const Schema = "nines/expectations/v1"

// Document is the decisions in JSON. Times are nanoseconds, losses fractions.
type Document struct {
	Schema       string          `json:"schema"`
	Name         string          `json:"name"`
	Result       string          `json:"result"`
	Decision     expect.Decision `json:"decision"`
	Expectations []documented    `json:"expectations"`
}

type documented struct {
	Expectation string           `json:"expectation"`
	File        string           `json:"file,omitempty"`
	Line        int              `json:"line,omitempty"`
	Decision    expect.Decision  `json:"decision"`
	Cases       []documentedCase `json:"cases"`
}

type documentedCase struct {
	Variables map[string]any  `json:"variables"`
	Trials    []string        `json:"trials"`
	Decision  expect.Decision `json:"decision"`
	Measured  *bounds         `json:"measured"`
	Limit     *bounds         `json:"limit"`
	Because   string          `json:"because"`
	Notes     []string        `json:"notes"`
	Needs     *needed         `json:"needs"`
}

type bounds struct {
	Value float64  `json:"value"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
}

type needed struct {
	Times     float64 `json:"times"`
	Packets   uint64  `json:"packets"`
	TrafficNs int64   `json:"traffic_ns"`
}

// Document returns the decisions for JSON; nil without any.
func (j *Judgements) Document() *Document {
	if j == nil {
		return nil
	}
	d := &Document{Schema: Schema, Name: j.Name, Result: j.Dir, Decision: j.Decision, Expectations: []documented{}}
	for _, one := range j.List {
		e := documented{Expectation: one.Text, File: one.Place.File, Line: one.Place.Line, Decision: one.Decision, Cases: []documentedCase{}}
		for _, c := range one.Cases {
			e.Cases = append(e.Cases, documentedCase{c.Variables, list(c.Trials), c.Decision, boundsOf(c.Subject), boundsOf(c.Bound), c.Because, list(c.Notes), (*needed)(c.Needs)})
		}
		d.Expectations = append(d.Expectations, e)
	}
	return d
}

func boundsOf(i *expect.Interval) *bounds { return (*bounds)(i) }

// list is never null in JSON.
func list(of []string) []string {
	if of == nil {
		return []string{}
	}
	return of
}
