package spec

import (
	"errors"
	"path/filepath"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v4"

	"nines.dev/nines/expect"
	"nines.dev/nines/terminal"
)

// Expected is an expectation of a file, with its place there.
type Expected struct {
	expect.Expectation
	File         string
	Line, Column int
}

// Expectations are those of the file, which Runs has checked; what is wrong is left out.
func (f *File) Expectations() []Expected {
	var all []Expected
	for _, n := range f.expectations() {
		if e, err := expect.Parse(n.text); err == nil {
			all = append(all, Expected{e, n.place.file, n.place.line, n.place.column})
		}
	}
	return all
}

// UseReferences replaces what expectations compare with, by paths from the working folder.
func (f *File) UseReferences(dirs []string) {
	of := &node{kind: list, place: place{file: "--reference"}}
	for _, dir := range dirs {
		if path, err := filepath.Abs(dir); err == nil {
			dir = path
		}
		of.items = append(of.items, &node{kind: scalar, tag: "!!str", text: dir, place: of.place})
	}
	f.root = f.root.with([]string{"reference"}, of)
}

// AddExpectation adds one to the file; where names the option that it is from.
func (f *File) AddExpectation(where, text string) error {
	if _, err := ReadExpectation(where, text); err != nil {
		return err
	}
	n := f.root.get("expect")
	all := &node{kind: list, place: f.root.place}
	if n != nil {
		all.place = n.place
	}
	added := &node{kind: scalar, tag: "!!str", text: text, style: yaml.DoubleQuotedStyle, place: place{file: where + " " + text}}
	all.items = append(slices.Clone(itemsOf(n)), added)
	f.root, f.sets = f.root.with([]string{"expect"}, all), append(f.sets, "expect+="+text)
	return nil
}

// References are the folders of the results that expectations compare with, as absolute paths.
func (f *File) References() []string {
	var all []string
	for _, n := range itemsOf(f.root.get("reference")) {
		all = append(all, f.beside(n.text))
	}
	return all
}

// ReadExpectation reads an expectation of the command line; where names the option.
func ReadExpectation(where, text string) (expect.Expectation, error) {
	e, err := expect.Parse(text)
	var wrong *expect.Error
	if errors.As(err, &wrong) {
		allowed, remedy := helpFor(wrong)
		return e, &Error{File: where + " " + text, Problem: wrong.Problem + " (column " + strconv.Itoa(wrong.At+1) + ")", Allowed: allowed, Remedy: remedy}
	}
	return e, err
}

// helpFor says what is allowed in place of what is wrong, and what to write.
func helpFor(wrong *expect.Error) (allowed, remedy string) {
	if wrong.Remedy != "" {
		return "", wrong.Remedy
	}
	return terminal.Listed(wrong.Known), terminal.DidYouMean(wrong.Word, wrong.Known)
}

func (f *File) expectations() []*node { return itemsOf(f.root.get("expect")) }

// itemsOf are the items of a list, or the single value that stands for a list of one.
func itemsOf(n *node) []*node {
	switch {
	case n == nil || n.isNull():
		return nil
	case n.kind == scalar:
		return []*node{n}
	}
	return n.items
}

// within is the place of a character in a text that is written in one line.
func (n *node) within(at int) place {
	p := n.place
	if p.column == 0 {
		return p // of the command line
	}
	p.column += at
	if n.style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
		p.column++
	}
	return p
}
