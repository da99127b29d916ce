package result

import (
	"encoding/json"
	"maps"
)

// TraceVariable is the swept key that turns tracing on or off.
const TraceVariable = "trace"

// Traced compares traced and untraced trials with otherwise equal variables: what the recorder
// changes about what it records.
type Traced struct {
	// Variables are those that they share.
	Variables map[string]any `json:"variables"`
	// On and Off are the numbers of traced and untraced trials.
	On      int            `json:"on"`
	Off     int            `json:"off"`
	Figures []TracedFigure `json:"figures"`
}

// TracedFigure is a figure's median with and without tracing.
type TracedFigure struct {
	// Name is "latency_p50_ns", "latency_p99_ns" or "received_pps".
	Name string  `json:"name"`
	On   float64 `json:"on"`
	Off  float64 `json:"off"`
	// Ratio is on against off.
	Ratio float64 `json:"ratio"`
}

// TracedAgainstNot finds the combinations of variables with both traced and untraced trials. Trials
// that did not offer their load do not count; a figure that a trial does not support, or that is 0
// without tracing, is left out.
func TracedAgainstNot(trials []Trial) []Traced {
	type sides struct {
		variables map[string]any
		on, off   []Trial
	}
	var all []*sides
	index := map[string]*sides{}
	for _, t := range trials {
		on, swept := t.Variables[TraceVariable].(bool)
		if !swept || t.Verdict == Invalid {
			continue
		}
		others := maps.Clone(t.Variables)
		delete(others, TraceVariable)
		key, err := json.Marshal(others)
		if err != nil {
			continue // no file has such values
		}
		of := index[string(key)]
		if of == nil {
			of = &sides{variables: others}
			index[string(key)] = of
			all = append(all, of)
		}
		if on {
			of.on = append(of.on, t)
		} else {
			of.off = append(of.off, t)
		}
	}
	list := []Traced{}
	for _, of := range all {
		if len(of.on) == 0 || len(of.off) == 0 {
			continue
		}
		one := Traced{Variables: of.variables, On: len(of.on), Off: len(of.off), Figures: []TracedFigure{}}
		for _, name := range tracedFigures {
			figure := TrialFigure(name)
			on, ok := medianOf(of.on, figure)
			off, both := medianOf(of.off, figure)
			if ok && both && off != 0 {
				one.Figures = append(one.Figures, TracedFigure{Name: name, On: on, Off: off, Ratio: on / off})
			}
		}
		list = append(list, one)
	}
	return list
}

// tracedFigures are the names of the columns that are compared.
var tracedFigures = []string{"latency_p50_ns", "latency_p99_ns", "received_pps"}

// medianOf is false if a trial lacks the figure.
func medianOf(trials []Trial, of func(Trial) (float64, bool)) (float64, bool) {
	values := make([]float64, 0, len(trials))
	for _, t := range trials {
		if value, ok := of(t); ok {
			values = append(values, value)
		}
	}
	return Median(values), len(values) == len(trials)
}

// Of reports whether a trial is among the compared ones.
func (t Traced) Of(trial Trial) bool {
	others := maps.Clone(trial.Variables)
	_, swept := others[TraceVariable]
	delete(others, TraceVariable)
	return swept && maps.EqualFunc(others, t.Variables, func(a, b any) bool { return FormatVariable(a) == FormatVariable(b) })
}
