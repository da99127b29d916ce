package main

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"time"

	"nines.dev/nines/exit"
	"nines.dev/nines/report"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// repeatsInTurn are the fewest valid trials of a side that can decide (docs/statistics.md).
const repeatsInTurn = 6

// againCall measures what was compared once more, so that it can be decided.
type againCall struct {
	out, format string
	limit       time.Duration
}

// run measures both sides as a duet, and where they cannot be one, in turn.
func (a againCall) run(ctx context.Context, args []string, by string, stdout, stderr io.Writer) error {
	pair, turn, err := a.files(args, by)
	if err != nil {
		return err
	}
	call := duetCall{runCall: runCall{out: a.out, format: a.format}, limit: a.limit}
	why := pair.problem
	if why == nil {
		call.a, call.b = pair.a, pair.b
		if why = call.sides(pair.file, func(format string, args ...any) { terminal.Printf(stderr, format+"\n", args...) }); why == nil {
			_, why = pair.file.Runs()
		}
	}
	if why == nil {
		return call.measure(ctx, pair.file, stdout, stderr)
	}
	terminal.Printf(stderr, "the two cannot be the sides of a duet, so their trials run in turn: %v\n", why)
	return a.inTurn(ctx, turn, stdout, stderr)
}

// duetFile is a file that becomes a duet by what it sets for each side, or why there is none.
type duetFile struct {
	file    *spec.File
	a, b    []string
	problem error
}

// turnFile is a file whose trials are those of both sides in turn.
type turnFile struct {
	file           *spec.File
	variable, a, b string
}

// files are the ways to measure two results, or two values of one, again.
func (a againCall) files(args []string, by string) (duetFile, turnFile, error) {
	var kept []*spec.File
	for _, dir := range args {
		file, err := keptFile(dir)
		if err != nil {
			return duetFile{}, turnFile{}, err
		}
		kept = append(kept, file)
	}
	if by == "" {
		both, problem := spec.DuetOf(kept[0], kept[1])
		turn, err := spec.InTurn(kept[0], kept[1], repeatsInTurn)
		return duetFile{file: both, problem: problem}, turnFile{turn, spec.InTurnVariable, spec.SideA, spec.SideB}, err
	}
	r, err := openResult(args[0])
	if err != nil {
		return duetFile{}, turnFile{}, err
	}
	short, values, err := byValues(r, by)
	if err != nil {
		return duetFile{}, turnFile{}, err
	}
	name, err := report.FindVariable(result.VariableNames(r.Shown()), short)
	if err != nil {
		return duetFile{}, turnFile{}, err
	}
	turn, err := keptFile(args[0])
	if err == nil {
		err = turn.ValuesInTurn(name, values[0], values[1], repeatsInTurn)
	}
	return duetFile{file: kept[0], a: []string{name + "=" + values[0]}, b: []string{name + "=" + values[1]}}, turnFile{turn, name, values[0], values[1]}, err
}

// inTurn measures, and compares the two sides of the new result.
func (a againCall) inTurn(ctx context.Context, turn turnFile, stdout, stderr io.Writer) error {
	if err := (runCall{out: a.out}).measure(ctx, turn.file, io.Discard, stderr); err != nil {
		return err
	}
	r, err := openResult(filepath.Join(a.out, result.LatestLink))
	if err != nil {
		return err
	}
	c, err := report.CompareValues(r, turn.variable, turn.a, turn.b)
	if err != nil {
		return err
	}
	return writeComparison(stdout, c, a.format)
}

func writeComparison(w io.Writer, c report.Comparison, format string) error {
	if format == "json" {
		return report.WriteComparisonJSON(w, c)
	}
	return report.WriteComparison(w, c)
}

// byValues splits VARIABLE=VALUE,VALUE. An error says which values the variable has in the result.
func byValues(r *result.Result, by string) (variable string, values []string, err error) {
	variable, list, _ := strings.Cut(by, "=")
	values = strings.Split(list, ",")
	if len(values) == 2 && values[0] != "" && values[1] != "" {
		return variable, values, nil
	}
	name, has, err := report.ValuesOf(r, variable)
	if err != nil {
		return "", nil, err
	}
	return "", nil, exit.Wrongf("--by %q: write VARIABLE=VALUE,VALUE; the values of %s are %s", by, terminal.Plain(name), terminal.Plain(strings.Join(has, ", ")))
}
