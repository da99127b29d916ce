package expectation

import (
	"fmt"
	"math"
	"strings"
	"time"

	"nines.dev/nines/expect"
	"nines.dev/nines/report"
	"nines.dev/nines/terminal"
)

// quantityText is a value with its unit.
func quantityText(v float64, d expect.Dimension) string {
	switch d {
	case expect.Fraction:
		return terminal.Significant(100*v) + " %"
	case expect.Count:
		return terminal.Grouped(v)
	case expect.Rate:
		return terminal.Grouped(rounded(v, rateDigits)) + " pps"
	}
	if math.Abs(v) < 1e3 {
		return terminal.Digits(v, 3) + " ns"
	}
	for _, u := range []struct {
		ns   float64
		name string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}} {
		if math.Abs(v) >= u.ns {
			return terminal.Digits(v/u.ns, 3) + " " + u.name
		}
	}
	return ""
}

// measuredText is a value with its interval: "3.1 µs (2.9 to 3.4)", or "(2.9, open)".
func measuredText(i *expect.Interval, d expect.Dimension) string {
	if i == nil {
		return terminal.None
	}
	text := quantityText(i.Value, d)
	switch {
	case i.Low == nil && i.High == nil, i.Low != nil && i.High != nil && *i.Low == *i.High:
		return text
	case i.High == nil:
		return fmt.Sprintf("%s (%s, open)", text, quantityText(*i.Low, d))
	case i.Low == nil:
		return fmt.Sprintf("%s (at most %s)", text, quantityText(*i.High, d))
	}
	return fmt.Sprintf("%s (%s to %s)", text, quantityText(*i.Low, d), quantityText(*i.High, d))
}

// Measured is the subject's value with its interval.
func (c Case) Measured(e expect.Expectation) string {
	return measuredText(c.Subject, e.Subject.Dimension())
}

// limit is what the subject was compared with, as far as the expectation does not say it.
func (c Case) limit(e expect.Expectation) string {
	if e.Bound.Other == nil || c.Bound == nil {
		return ""
	}
	return ", with a limit of " + measuredText(c.Bound, e.Subject.Dimension())
}

// About says which combination it is; empty for a result without a sweep.
func (c Case) About() string {
	if len(c.Variables) == 0 {
		return ""
	}
	return report.Describe(c.Variables)
}

// Sentence tells the decision and why, without the expectation: "violated: p99 is 120 µs (110 to 131) of 600,000 packets
// of 6 trials".
func (c Case) Sentence(e expect.Expectation) string {
	var b strings.Builder
	b.WriteString(string(c.Decision))
	if c.Subject != nil {
		fmt.Fprintf(&b, ": %s is %s%s", e.Subject, c.Measured(e), c.limit(e))
		if c.Because != "" && c.Decision != expect.Undecided {
			b.WriteString(", ")
		}
	}
	switch {
	case c.Because == "":
	case c.Decision == expect.Undecided && c.Subject != nil && e.Subject.P == 0:
		b.WriteString(", " + c.Because)
	case c.Decision == expect.Undecided && c.Subject != nil:
		b.WriteString(", because " + c.Because)
	case c.Subject == nil:
		b.WriteString(": " + c.Because)
	default:
		b.WriteString(c.Because)
	}
	if c.Needs != nil {
		b.WriteString("; " + c.Needs.String())
	}
	return b.String()
}

// line is the sentence after the combination that it is about.
func (c Case) line(e expect.Expectation) string {
	if about := c.About(); about != "" {
		return about + ": " + c.Sentence(e)
	}
	return c.Sentence(e)
}

// String says what a decision would take.
func (n Needs) String() string {
	return fmt.Sprintf("it would take about %s times the traffic: %s packets, %s", terminal.Digits(n.Times, 2), terminal.Grouped(rounded(float64(n.Packets), 2)), span(n.TrafficNs))
}

// rateDigits are those of a rate: limits are often near, as 1.52 Mpps and 1.5 Mpps.
const rateDigits = 4

// rounded keeps so many digits.
func rounded(v float64, digits int) float64 {
	if v <= 0 {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-float64(digits-1))
	return math.Round(v/unit) * unit
}

func span(ns int64) string {
	if ns < int64(10*time.Second) {
		return terminal.Duration(int64(rounded(float64(ns), 2)))
	}
	return terminal.Span(time.Duration(ns))
}

// Headline counts the decisions: "1 of 3 expectations holds, 1 is violated, 1 is undecided".
func (j Judgements) Headline() string {
	n, held := len(j.List), j.Count(expect.Holds)
	if held == n && n == 1 {
		return "the expectation holds"
	}
	if n == 1 {
		return "the expectation is " + string(j.Decision)
	}
	if held == n {
		return fmt.Sprintf("all %d expectations hold", n)
	}
	parts := []string{fmt.Sprintf("%d of %s %s", held, terminal.Count(n, "expectation"), map[bool]string{true: "holds", false: "hold"}[held == 1])}
	for _, d := range []expect.Decision{expect.Violated, expect.Undecided} {
		if k := j.Count(d); k > 0 {
			parts = append(parts, fmt.Sprintf("%d %s %s", k, isAre(k), d))
		}
	}
	return strings.Join(parts, ", ")
}

// notes are those of all combinations, each once.
func (j Judgement) notes() []string {
	var all []string
	for _, c := range j.Cases {
		all = append(all, c.Notes...)
	}
	return distinct(all)
}
