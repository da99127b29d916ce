package report

import (
	"bytes"
	_ "embed" // web/ builds the page before this package
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"strings"

	"nines.dev/nines/result"
)

// pageTemplate is the whole page without its data. If the compiler finds no page/index.html, run
// "make build", or "npm ci && npm run build" in web/.
//
//go:embed page/index.html
var pageTemplate []byte

// dataMark marks the place for the data, within a script element of type application/json;
// web/src/index.html has it once.
var dataMark = []byte("{\"nines\":\"data\"}")

// saidMark marks the place for what the page says to a browser that runs no script.
var saidMark = []byte("<!--said-->")

// PageOptions are what a page shows beside the result, and who hears how far it is.
type PageOptions struct {
	// Expected are the decisions on what was expected of the result.
	Expected []Expected
	// Progress receives the trials that were read; it may be nil.
	Progress func(done, of int)
}

// Expected is the decision on an expectation, and why, for each combination of the swept variables.
type Expected struct {
	Expectation string   `json:"expectation"`
	Decision    string   `json:"decision"`
	Because     []string `json:"because"`
}

// WritePage makes the page of a result folder: one file that works offline and makes no requests.
// Names and texts of the result are data, never markup.
func WritePage(resultDir string, w io.Writer) error {
	r, err := result.Open(resultDir)
	if err != nil {
		return err
	}
	return WritePageOf(r, w, PageOptions{})
}

// WritePageOf is WritePage for an open result.
func WritePageOf(r *result.Result, w io.Writer, o PageOptions) error {
	if err := r.MayShowExperiment(); err != nil {
		return err
	}
	p := newPageData(r, o.Progress)
	p.Expected = append(p.Expected, o.Expected...)
	if err := p.write(w); err != nil {
		return fmt.Errorf("making the page of %s: %w", r.Dir, err)
	}
	return nil
}

func (p pageData) write(w io.Writer) error {
	if bytes.Count(pageTemplate, dataMark) != 1 || bytes.Count(pageTemplate, saidMark) != 1 {
		return errors.New("the page that was built in has no place for the data: build it again with 'npm run build' in web/")
	}
	// Marshal writes <, > and & as \u003c, \u003e, \u0026, so no text in the data can end the
	// script element.
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	before, after, _ := bytes.Cut(pageTemplate, dataMark)
	said, rest, _ := bytes.Cut(before, saidMark)
	for _, part := range [][]byte{said, p.said(), rest, data, after} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// said is the name, the answer and the decisions, as markup.
func (p pageData) said() []byte {
	var b strings.Builder
	say := func(element, text string) { fmt.Fprintf(&b, "<%s>%s</%[1]s>", element, html.EscapeString(text)) }
	say("h1", p.Name)
	for _, sentence := range p.Answer {
		say("p", sentence)
	}
	for _, e := range p.Expected {
		say("h2", e.Expectation+": "+e.Decision)
		for _, why := range e.Because {
			say("p", why)
		}
	}
	return []byte(b.String())
}
