package spec

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nines.dev/nines/expect"
	"nines.dev/nines/terminal"
)

// checkExpectations checks what the file expects of all its runs.
func (f *File) checkExpectations(runs []Run, errs *collector) {
	duet := f.root.get("duet") != nil
	for i, n := range f.expectations() {
		path := "expect." + strconv.Itoa(i)
		e, err := expect.Parse(n.text)
		var wrong *expect.Error
		if errors.As(err, &wrong) {
			at := *n
			at.place = n.within(wrong.At)
			allowed, remedy := helpFor(wrong)
			errs.fail(&at, path, wrong.Problem, allowed, remedy)
			continue
		}
		if problem, remedy := misplaced(e, duet, f.root.get("reference") != nil); problem != "" {
			errs.fail(n, path, problem, "", remedy)
			continue
		}
		if problem, remedy := unfound(e, runs); problem != "" {
			errs.fail(n, path, problem, "", remedy)
			continue
		}
		for _, c := range conditionsOf(e) {
			if problem, allowed, remedy := neverMet(c, runs); problem != "" {
				errs.fail(n, path, problem, allowed, remedy)
			}
		}
	}
	if n := f.root.get("expect"); n != nil && len(runs) > 0 && runs[0].Experiment.Traffic == nil {
		errs.fail(n, "expect", "nothing is measured, as the file has no traffic", "", "add traffic: {from: …, to: …, rate_pps: 10000}, or remove the key")
	}
	if n := f.root.get("reference"); n != nil && len(f.expectations()) == 0 {
		errs.fail(n, "reference", "nothing is compared with it", "", "write an expectation, such as expect: [p99 <= 1.1 * reference.p99], or remove the key")
	}
}

// conditionsOf are all that some run has to meet, each value of a variable in turn by itself.
func conditionsOf(e expect.Expectation) []expect.Condition {
	all := e.Where
	for _, q := range e.Quantities() {
		if q.Key != "" {
			all = append(slices.Clone(all), expect.Condition{Key: q.Key, Values: []string{q.Value}})
		}
	}
	return all
}

// misplaced says why an expectation can never be decided from this file; empty if it can.
func misplaced(e expect.Expectation, duet, reference bool) (problem, remedy string) {
	for _, q := range e.Quantities() {
		switch {
		case duet && q.Of != expect.SideA && q.Of != expect.SideB:
			return fmt.Sprintf("a duet has two sides, and %s is of neither", q), "say whose, such as b.p99 <= 1.05 * a.p99"
		case !duet && (q.Of == expect.SideA || q.Of == expect.SideB):
			return fmt.Sprintf("%s is of a side, and the file is no duet", q), "add duet: {a: …, b: …}, or write " + expect.Quantity{Figure: q.Figure, P: q.P, Undisturbed: q.Undisturbed}.String()
		case q.Of == expect.Reference && !reference:
			return "the file names no reference", "add reference: FOLDER, a result of this experiment"
		case duet && q.P != 0 && !matches(askPattern, strings.ReplaceAll(q.Name(), "_", ".")):
			return "a duet does not compare " + q.Name(), "write " + askForm
		}
	}
	if duet && len(e.Where) > 0 {
		return "a duet is one trial, and where chooses among several", "remove the conditions"
	}
	return "", ""
}

// unfound says why no run of the file tells a quantity that not every measurement tells; empty if one does.
func unfound(e expect.Expectation, runs []Run) (problem, remedy string) {
	some := func(tells func(*Experiment) bool) bool {
		return len(runs) == 0 || slices.ContainsFunc(runs, func(r Run) bool { return tells(r.Experiment) })
	}
	for _, q := range e.Quantities() {
		switch {
		case q.Searched() && !some(func(x *Experiment) bool { return x.Method.Search() }):
			return fmt.Sprintf("%s is what a search finds, and the file has none", q.Name()), expect.SearchRemedy(q.Figure)
		case q.Intervals != "" && !some(func(x *Experiment) bool { return x.Traffic != nil && x.Traffic.Packets == PacketsRecord }):
			return fmt.Sprintf("%s needs the times of all packets, which the file does not record", q.Name()), "set traffic.packets: record"
		}
	}
	return "", ""
}

// neverMet says why no run meets a condition; empty if one does.
func neverMet(c expect.Condition, runs []Run) (problem, allowed, remedy string) {
	var keys, values []string
	for _, run := range runs {
		for _, v := range run.Variables {
			if !slices.Contains(keys, v.Path) {
				keys = append(keys, v.Path)
			}
			if v.Path != c.Key && !strings.HasSuffix(v.Path, "."+c.Key) {
				continue
			}
			text := valueText(v.Value)
			if slices.Contains(c.Values, text) {
				return "", "", ""
			}
			if !slices.Contains(values, text) {
				values = append(values, text)
			}
		}
	}
	switch {
	case len(keys) == 0:
		return fmt.Sprintf("where %s: the file has no sweep", c), "", "remove the condition"
	case len(values) == 0:
		remedy = terminal.DidYouMean(c.Key, slices.Concat(keys, lastParts(keys)))
		return fmt.Sprintf("where %s: the sweep varies no %q", c, c.Key), terminal.Listed(keys), remedy
	}
	return fmt.Sprintf("where %s: no run has that", c), terminal.Listed(values), terminal.DidYouMean(c.Values[0], values)
}

func lastParts(keys []string) []string {
	var parts []string
	for _, key := range keys {
		parts = append(parts, key[strings.LastIndex(key, ".")+1:])
	}
	return parts
}

// valueText is a variable's value as results write it (result.FormatVariable).
func valueText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}
