package main

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"time"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab"
	"nines.dev/nines/reproduce"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// judge measures what decides the claims, and notes the verdicts. What was judged before an error stays.
func (k reproduceCall) judge(ctx context.Context, runs []reproduce.Run, d *reproduce.Document, dir string, stderr io.Writer) error {
	for i, r := range runs {
		terminal.Printf(stderr, "%d/%d  %s\n", i+1, len(runs), r)
		judged, err := k.measure(ctx, r, dir, stderr)
		if err != nil {
			return err
		}
		d.Add(judged...)
		for _, j := range judged {
			terminal.Printf(stderr, "     %s %s: %s\n", j.Paper, j.Claim, j.Verdict)
		}
		if err := keep(d, dir); err != nil {
			return err
		}
	}
	return nil
}

// measure measures what decides claims, and judges them. A measurement that fails leaves its claims open, with the reason.
func (k reproduceCall) measure(ctx context.Context, r reproduce.Run, dir string, stderr io.Writer) ([]reproduce.Judged, error) {
	file, err := r.Experiment(k.quick)
	if err != nil {
		return nil, err
	}
	var written string
	call := runCall{out: dir, quiet: true, written: func(at string) { written = at }}
	failed := awaitTurn(ctx, stderr, func() error { return call.measure(ctx, file, io.Discard, stderr) })
	if errors.Is(failed, context.Canceled) {
		return nil, errors.New("interrupted; the claims that were judged before stay")
	}
	var all []reproduce.Judged
	if written == "" {
		for _, one := range r.Claims {
			all = append(all, reproduce.Unmeasured(one, failed.Error()))
		}
		return all, nil
	}
	measured, err := result.Open(written)
	if err != nil {
		return nil, err
	}
	below, err := filepath.Rel(dir, written)
	if err != nil {
		return nil, err
	}
	planned := plannedBy(file)
	for _, one := range r.Claims {
		j, err := reproduce.Judge(one, measured, planned)
		if err != nil {
			return nil, err
		}
		j.Result = below
		if j.Verdict == reproduce.NotDecidable {
			j.Early = endedEarly(failed)
		}
		all = append(all, j)
	}
	return all, nil
}

// endedEarly says why a measurement did not make all of its trials; empty for one that did, as far as the host can.
func endedEarly(err error) string {
	switch exit.Code(err) {
	case exit.Done, exit.Lacks, exit.Violated, exit.Undecided:
		return ""
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return "the measurement ended with an error: " + first
}

// plannedBy are the combinations that a file has.
func plannedBy(file *spec.File) (all []map[string]any) {
	runs, err := file.Runs()
	if err != nil {
		return nil // it was measured, so this does not happen
	}
	for _, run := range runs {
		all = append(all, run.VariableMap())
	}
	return all
}

// turnWait is how long a call waits before it looks again whether another measurement has ended.
const turnWait = 2 * time.Second

// awaitTurn repeats a measurement that another one on this host refuses, until that has ended.
func awaitTurn(ctx context.Context, words io.Writer, measure func() error) error {
	for said := false; ; said = true {
		err := measure()
		var other *lab.MeasuringError
		if !errors.As(err, &other) {
			return err
		}
		if !said {
			terminal.Printf(words, "     waits for its turn: %s\n", other.Who)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(turnWait):
		}
	}
}
