package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/expect"
	"nines.dev/nines/report/expectation"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// judging is where verbs tell pages of CI what they decided on expectations.
type judging struct {
	junit, markdown, annotations string
	words                        io.Writer // for annotations, which a runner reads there
}

func (k *judging) flags(c *cobra.Command) {
	c.Flags().StringVar(&k.junit, "junit", "", "write the decisions on the expectations to this file, as JUnit XML")
	c.Flags().StringVar(&k.markdown, "markdown", "", "add them to this file, as Markdown")
	c.Flags().StringVar(&k.annotations, "annotations", "", "print them for a page of CI: github")
}

// check refuses a page of CI that is not known, before anything is measured.
func (k *judging) check(c *cobra.Command) error {
	k.words = c.ErrOrStderr()
	if k.annotations != "" && k.annotations != "github" {
		return exit.Wrongf("unknown --annotations %q; allowed: github; GitLab and others read --junit", k.annotations)
	}
	return nil
}

// expected is what is expected of a result, and what it is compared with.
type expected struct {
	asked      []expectation.Asked
	references []*result.Result
	// planned are the combinations that the result should have; nil where that is not known.
	planned []map[string]any
}

// expectedBy is what a file expects; references that cannot be read are an error, before anything is measured.
func expectedBy(file *spec.File) (expected, error) {
	var e expected
	for _, one := range file.Expectations() {
		place := expectation.Place{Line: one.Line, Column: one.Column}
		if one.Line > 0 {
			place.File = belowHere(one.File)
		}
		e.asked = append(e.asked, expectation.Asked{Expectation: one.Expectation, Place: place})
	}
	return e, e.refer(file.References())
}

// refer opens references, where an expectation needs them.
func (e *expected) refer(dirs []string) error {
	if !e.needsReference() {
		return nil
	}
	for _, dir := range dirs {
		r, err := openResult(dir)
		if err != nil {
			return fmt.Errorf("the reference %w", err)
		}
		e.references = append(e.references, r)
	}
	return nil
}

func (e *expected) needsReference() bool {
	for _, a := range e.asked {
		for _, q := range a.Quantities() {
			if q.Of == expect.Reference {
				return true
			}
		}
	}
	return false
}

// judge decides what is expected of a result.
func (e *expected) judge(r *result.Result) (expectation.Judgements, error) {
	return expectation.Judge(expectation.Options{Result: r, Reference: e.references, Asked: e.asked, Planned: e.planned})
}

// judgeFolder decides what is expected of a result that was just measured.
func (e *expected) judgeFolder(dir string) (*expectation.Judgements, error) {
	r, err := result.Open(dir)
	if err != nil {
		return nil, err
	}
	j, err := e.judge(r)
	return &j, err
}

// decidedOn decides what a result's own file expects of it; nil if that expects nothing, or there is no file.
func decidedOn(dir string, r *result.Result) (*expectation.Judgements, error) {
	if _, err := os.Lstat(filepath.Join(dir, result.ExperimentFile)); errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	file, err := keptFile(dir)
	if err != nil || len(file.Expectations()) == 0 {
		return nil, err
	}
	e, err := expectCall{}.expected(dir)
	if err != nil {
		return nil, err
	}
	j, err := e.judge(r)
	if err != nil {
		return nil, err
	}
	return &j, nil
}

// tell writes the decisions for the pages of CI.
func (k judging) tell(j expectation.Judgements) error {
	var failed error
	if k.junit != "" {
		failed = writeWhole(k.junit, func(out io.Writer) error { return expectation.WriteJUnit(out, j) })
	}
	if k.markdown != "" {
		failed = errors.Join(failed, addTo(k.markdown, func(out io.Writer) error { return expectation.WriteMarkdown(out, j) }))
	}
	if k.annotations != "" {
		failed = errors.Join(failed, expectation.WriteGitHub(k.words, j))
	}
	return failed
}

// addTo writes to the end of a file, as several steps of a job share one.
func addTo(path string, write func(io.Writer) error) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

// verdictOf is the error that ends a verb with the exit code of the decisions; nil if all hold.
func verdictOf(j expectation.Judgements) error {
	switch j.Decision {
	case expect.Violated:
		return exit.With(exit.Violated, errors.New(j.Headline()))
	case expect.Undecided:
		return exit.With(exit.Undecided, errors.New(j.Headline()))
	}
	return nil
}

// belowHere is a path from the working folder, if it is below that: pages of CI name files so.
func belowHere(path string) string {
	here, err := os.Getwd()
	if err != nil || !filepath.IsAbs(path) {
		return path
	}
	if short, err := filepath.Rel(here, path); err == nil && !strings.HasPrefix(short, "..") {
		return short
	}
	return path
}
