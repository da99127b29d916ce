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
var figureNames = slices.Concat(percentileNames, []string{Loss, Lost, Duplicates, Reordered, Least, Most, Received})

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
	case q.Undisturbed:
		return q, &Error{At: at, Problem: fmt.Sprintf("undisturbed %s is not known, only percentiles are", text), Remedy: "write such as undisturbed.p99"}
	}
	return q, p.chosen(&q)
}

// chosen reads which trials a quantity is of, if it says so: "(kind=veth)"; a value may have blanks.
func (p *parser) chosen(q *Quantity) error {
	open, is := p.take("(")
	if !is {
		return nil
	}
	inside := ""
	for {
		next, ok := p.peek()
		if !ok {
			return &Error{At: open.at, Problem: "the bracket does not end", Remedy: "write such as p99(kind=veth)"}
		}
		p.tokens = p.tokens[1:]
		if next.text == ")" {
			inside = p.text[open.at+1 : next.at]
			break
		}
	}
	key, value, found := strings.Cut(inside, "=")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	if !found || key == "" || value == "" || q.Of != Trials {
		return &Error{At: open.at, Problem: "chooses no trials", Remedy: "write such as p99(kind=veth) <= 1.1 * p99(kind=bridge)"}
	}
	q.Key, q.Value = key, value
	return nil
}

// unknown is the error for a word that is no quantity; undisturbed is true for one behind that word.
func unknown(text string, at int, undisturbed bool) *Error {
	known := append(figureNames[:len(figureNames):len(figureNames)], undisturbedWord+".p99")
	if undisturbed {
		known = percentileNames
	}
	if before, _, found := strings.Cut(text, "."); found && !strings.HasPrefix(text, "p") {
		known = []string{string(Reference), string(SideA), string(SideB), undisturbedWord}
		return &Error{At: at, Problem: fmt.Sprintf("%q is not known before a dot", before), Word: before, Known: known}
	}
	if number, err := strconv.ParseFloat(strings.TrimPrefix(text, "p"), 64); err == nil && strings.HasPrefix(text, "p") {
		return &Error{At: at, Problem: fmt.Sprintf("p%v is no percentile", number), Remedy: "write one above p0 and below p100, such as p99.9"}
	}
	return &Error{At: at, Problem: fmt.Sprintf("no quantity is called %q", text), Word: text, Known: known}
}
