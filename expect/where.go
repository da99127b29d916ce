package expect

import (
	"fmt"
	"strings"
	"unicode"
)

// conditions reads "kind=veth,bridge and rate_pps=1000"; at is how many bytes stand before it.
func conditions(text string, at int) ([]Condition, error) {
	w := &whereReader{text, at}
	var list []Condition
	for {
		one, err := w.condition()
		if err != nil {
			return nil, err
		}
		list = append(list, one)
		if w.blank(); w.text == "" {
			return list, nil
		}
		here := w.at
		if word := w.word(""); !strings.EqualFold(word, "and") {
			return nil, &Error{At: here, Problem: fmt.Sprintf("%q stands behind a condition", word), Remedy: "join conditions with and: kind=veth and rate_pps=1000"}
		}
	}
}

// whereReader reads conditions from the left.
type whereReader struct {
	text string
	at   int
}

func (w *whereReader) skip(n int) { w.text, w.at = w.text[n:], w.at+n }

func (w *whereReader) blank() {
	w.skip(len(w.text) - len(strings.TrimLeftFunc(w.text, unicode.IsSpace)))
}

// word takes what stands before white space or one of the given characters.
func (w *whereReader) word(until string) string {
	end := strings.IndexFunc(w.text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(until, r) })
	if end < 0 {
		end = len(w.text)
	}
	word := w.text[:end]
	w.skip(end)
	return word
}

// value takes a value, which quotes may hold together.
func (w *whereReader) value() (string, error) {
	if w.text == "" || !strings.ContainsRune(`"'`, rune(w.text[0])) {
		at := w.at
		value := w.word(",")
		if strings.Contains(value, "=") {
			return "", &Error{At: at, Problem: fmt.Sprintf("%q is no value", value), Remedy: `join conditions with and, and put a value with "=" in quotes`}
		}
		return value, nil
	}
	quote, here := w.text[:1], w.at
	end := strings.Index(w.text[1:], quote)
	if end < 0 {
		return "", &Error{At: here, Problem: "the quote does not end"}
	}
	value := w.text[1 : 1+end]
	w.skip(end + 2)
	return value, nil
}

func (w *whereReader) condition() (Condition, error) {
	w.blank()
	here := w.at
	c := Condition{Key: w.word("=,")}
	w.blank()
	form := &Error{At: here, Problem: "is no condition", Remedy: "write KEY=VALUE or KEY=VALUE,VALUE, such as where kind=veth"}
	if c.Key == "" || !strings.HasPrefix(w.text, "=") {
		return c, form
	}
	w.skip(1)
	w.blank()
	for {
		at := w.at
		value, err := w.value()
		if err != nil {
			return c, err
		}
		if value == "" {
			form.At, form.Problem = at, "a value is missing"
			return c, form
		}
		c.Values = append(c.Values, value)
		if !strings.HasPrefix(w.text, ",") {
			return c, nil
		}
		w.skip(1)
		w.blank()
	}
}
