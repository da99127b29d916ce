package expect

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// percentileNames are the usual ones, which a message lists.
var percentileNames = []string{"p50", "p90", "p99", "p99.9", "p99.99", "p99.999", "p99.9999"}

// figureNames are those that a message lists: all but percentiles are here.
var figureNames = slices.Concat(percentileNames, []string{Loss, Lost, Duplicates, Reordered, Least, Most, Received, Variation, Throughput, NDR, PDR})

// intervalForms are the quantities of intervals that a message lists.
var intervalForms = []string{"interval.p50", "interval.p99", "interval.within(7us..8us)", "sent.interval.p50"}

// undisturbedWord is before a percentile without the host's interruptions.
const undisturbedWord = "undisturbed"

// quantity reads "reference.undisturbed.p99.9", and "undisturbed p99" in two words.
func (p *parser) quantity(word token) (Quantity, error) {
	q := Quantity{}
	text, at := word.text, word.at
	skip := func(prefix string) bool {
		rest, found := strings.CutPrefix(text, prefix+".")
		if found {
			text, at = rest, at+len(prefix)+1
		}
		return found
	}
	for _, of := range []Source{Reference, SideA, SideB} {
		if skip(string(of)) {
			q.Of = of
			break
		}
	}
	for _, of := range []Intervals{SentIntervals, ReceivedIntervals} {
		if skip(string(of)) {
			q.Intervals = of
			return q, p.interval(&q, text, at)
		}
	}
	if q.Undisturbed = skip(undisturbedWord); !q.Undisturbed && text == undisturbedWord {
		next, ok := p.peek()
		if !ok {
			return q, &Error{At: next.at, Problem: "the percentile is missing behind undisturbed", Remedy: "write such as undisturbed.p99"}
		}
		p.tokens, q.Undisturbed = p.tokens[1:], true
		text, at = next.text, next.at
	}
	figure, fraction, is := percentile(text)
	if is {
		q.Figure, q.P = figure, fraction
		return q, p.chosen(&q)
	}
	for _, name := range figureNames {
		if text == name {
			q.Figure = name
		}
	}
	switch {
	case q.Figure == "":
		return q, unknown(text, at, q.Undisturbed)
	case q.Of != Trials && q.ofTrials():
		return q, noSource(q, word.at)
	case q.Undisturbed:
		return q, &Error{At: at, Problem: fmt.Sprintf("undisturbed %s is not known, only percentiles are", text), Remedy: "write such as undisturbed.p99"}
	}
	return q, p.chosen(&q)
}

// interval reads what of intervals is asked: a percentile, or the share within a range.
func (p *parser) interval(q *Quantity, text string, at int) error {
	if q.Of != Trials {
		q.Figure = text
		return noSource(*q, at)
	}
	figure, fraction, is := percentile(text)
	if is {
		q.Figure, q.P = figure, fraction
		return p.chosen(q)
	}
	if text != Within {
		return &Error{At: at, Problem: fmt.Sprintf("no quantity is called %q", string(q.Intervals)+"."+text), Word: string(q.Intervals) + "." + text, Known: intervalForms}
	}
	q.Figure = Within
	next, _ := p.peek()
	form := &Error{At: next.at, Problem: "names no range of times", Remedy: "write such as interval.within(7us..8us), the shorter time first"}
	open, inside, err := p.bracket()
	if err != nil || open < 0 {
		return form
	}
	q.Range = strings.Join(strings.Fields(inside), "")
	from, to, _ := strings.Cut(q.Range, "..")
	low, first := readAmount(from)
	high, second := readAmount(to)
	if !first || !second || low.value != 0 && (low.unit == "" || low.dimension != Time) || high.unit == "" || high.dimension != Time || low.value >= high.value {
		return form
	}
	q.From, q.To = low.value, high.value
	return p.chosen(q)
}

// noSource is the error for a quantity that neither a side of a duet nor a reference has.
func noSource(q Quantity, at int) *Error {
	of := "the reference"
	if q.Of != Reference {
		of = "a side of a duet"
	}
	q.Of = Trials
	return &Error{At: at, Problem: fmt.Sprintf("%s is not told of %s", q, of), Remedy: fmt.Sprintf("write %s, of a result's trials", q)}
}

// bracket takes what stands in brackets, and where they open; −1 where none does.
func (p *parser) bracket() (at int, inside string, err error) {
	open, is := p.take("(")
	if !is {
		return -1, "", nil
	}
	for {
		next, ok := p.peek()
		if !ok {
			return open.at, "", &Error{At: open.at, Problem: "the bracket does not end", Remedy: "write such as p99(kind=veth)"}
		}
		p.tokens = p.tokens[1:]
		if next.text == ")" {
			return open.at, p.text[open.at+1 : next.at], nil
		}
	}
}

// chosen reads which trials a quantity is of, if it says so: "(kind=veth)"; a value may have blanks.
func (p *parser) chosen(q *Quantity) error {
	open, inside, err := p.bracket()
	if err != nil || open < 0 {
		return err
	}
	key, value, found := strings.Cut(inside, "=")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	if !found || key == "" || value == "" || q.Of != Trials {
		return &Error{At: open, Problem: "chooses no trials", Remedy: "write such as p99(kind=veth) <= 1.1 * p99(kind=bridge)"}
	}
	q.Key, q.Value = key, value
	return nil
}

// beforeDots are the words of quantities that have a dot.
var beforeDots = []string{Received, "interval", "sent"}

// unknown is the error for a word that is no quantity; undisturbed is true for one behind that word.
func unknown(text string, at int, undisturbed bool) *Error {
	known := slices.Concat(figureNames, []string{undisturbedWord + ".p99"}, intervalForms)
	if undisturbed {
		known = percentileNames
	}
	if before, _, found := strings.Cut(text, "."); found && !strings.HasPrefix(text, "p") && !slices.Contains(beforeDots, before) {
		known = slices.Concat([]string{string(Reference), string(SideA), string(SideB), undisturbedWord}, beforeDots)
		return &Error{At: at, Problem: fmt.Sprintf("%q is not known before a dot", before), Word: before, Known: known}
	}
	if number, err := strconv.ParseFloat(strings.TrimPrefix(text, "p"), 64); err == nil && strings.HasPrefix(text, "p") {
		return &Error{At: at, Problem: fmt.Sprintf("p%v is no percentile", number), Remedy: "write one above p0 and below p100, such as p99.9"}
	}
	return &Error{At: at, Problem: fmt.Sprintf("no quantity is called %q", text), Word: text, Known: known}
}
