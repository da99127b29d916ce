package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"nines.dev/nines/host"
	"nines.dev/nines/measure"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// runExperiment measures an experiment file, as nines run does, and returns its result, whose
// folder is already removed.
func runExperiment(ctx context.Context, inventory *host.Inventory, text string) (done *result.Result, err error) {
	file, err := spec.Load("bench.yaml", []byte(text))
	if err != nil {
		return nil, err
	}
	experiment, err := measure.Prepare(file, inventory)
	if err != nil {
		return nil, err
	}
	if _, err := experiment.Check(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "nines-bench")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	writer, err := result.Create(dir, experiment.Name(), time.Now())
	if err != nil {
		return nil, err
	}
	session, err := experiment.Begin(ctx)
	if err != nil {
		return nil, err
	}
	if err := session.Measure(ctx, writer, onlooker{}); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return result.Open(writer.Dir())
}

// onlooker reports on standard error what was measured.
type onlooker struct{}

func (onlooker) Doing(string)                             {}
func (onlooker) Noted(string)                             {}
func (onlooker) Baseline(map[string]any)                  {}
func (onlooker) Trial(map[string]any, int, time.Duration) {}
func (onlooker) Maximum(map[string]any, time.Duration)    {}
func (onlooker) Window(result.Trial)                      {}
func (onlooker) Searching(measure.SearchState)            {}
func (onlooker) Progress(measure.Progress)                {}
func (onlooker) Looked(result.Duet)                       {}
func (onlooker) Died(measure.Death)                       {} // the error reports it
func (onlooker) Skipped(s result.Skipped) {
	fmt.Fprintf(os.Stderr, "  %v left out: %s\n", s.Variables, s.Reason)
}
func (onlooker) Found(s result.Search) {
	for _, f := range s.Findings {
		if f.Value != nil {
			fmt.Fprintf(os.Stderr, "  round %d, %v: %s %.0f %s\n", s.Repeat, s.Variables, f.Name, *f.Value, f.Unit)
		}
	}
}
func (onlooker) Measured(t result.Trial) {
	if p := t.Latency; p.P99 != nil && p.P999 != nil && p.Max != nil {
		fmt.Fprintf(os.Stderr, "  round %d, %v: p99 %.1f, p99.9 %.1f, max %.1f µs, %s\n", t.Repeat, t.Variables,
			micros(*p.P99), micros(*p.P999), micros(*p.Max), t.Verdict)
	}
}

func micros(ns int64) float64 { return float64(ns) / 1000 }

// each returns a figure of every trial, by the value of a variable. A trial without the figure
// (nil) is reported; it is an error only if all trials of a value lack it.
func each(done *result.Result, variable string, figure func(result.Trial) *float64) (map[string][]float64, error) {
	values := map[string][]float64{}
	for _, t := range done.Summary.Trials {
		of := result.FormatVariable(t.Variables[variable])
		if v := figure(t); v != nil {
			values[of] = append(values[of], *v)
			continue
		}
		fmt.Fprintf(os.Stderr, "  round %d, %v left out: too few packets arrived\n", t.Repeat, t.Variables)
		values[of] = append([]float64{}, values[of]...)
	}
	for of, list := range values {
		if len(list) == 0 {
			return nil, fmt.Errorf("%s=%s: too few packets arrived in every round", variable, of)
		}
	}
	return values, nil
}

// microsOf returns a percentile in microseconds.
func microsOf(of func(result.Percentiles) *int64) func(result.Trial) *float64 {
	return func(t result.Trial) *float64 {
		ns := of(t.Latency)
		if ns == nil {
			return nil
		}
		v := micros(*ns)
		return &v
	}
}
