package spec

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/terminal"
)

// Error is one mistake in a file, with its place.
type Error struct {
	// File is the name of the file, or "--set KEY=VALUE" where the value came
	// from the command line; Line and Column count from 1 and are 0 there.
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
	// Path is the key, such as "traffic.frame_bytes"; empty for the whole file.
	Path    string `json:"path,omitempty"`
	Problem string `json:"problem"`
	// Allowed says what is accepted; Remedy what to do.
	Allowed string `json:"allowed,omitempty"`
	Remedy  string `json:"remedy,omitempty"`
	// foreign is set for the file of another tool.
	foreign bool
}

// Error prints `file:line:column: path: problem; remedy; allowed: …` in one line, whatever is in the file's
// name, its keys and its values.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", e.Line, e.Column)
	}
	b.WriteString(": ")
	if e.Path != "" {
		b.WriteString(e.Path + ": ")
	}
	b.WriteString(e.Problem)
	if e.Remedy != "" {
		b.WriteString("; " + e.Remedy)
	}
	if e.Allowed != "" {
		separator := "; "
		if strings.HasSuffix(e.Remedy, "?") {
			separator = " "
		}
		b.WriteString(separator + "allowed: " + e.Allowed)
	}
	return terminal.Plain(b.String())
}

// ExitCode is that of a wrong file.
func (e *Error) ExitCode() int { return exit.Wrong }

// Errors are all mistakes in a file, sorted by place.
type Errors []*Error

// Error prints one error per line, after a heading where there are several.
func (e Errors) Error() string {
	if len(e) == 1 {
		return e[0].Error()
	}
	lines := make([]string, 0, len(e)+1)
	lines = append(lines, fmt.Sprintf("%d errors:", len(e)))
	for _, one := range e {
		lines = append(lines, one.Error())
	}
	return strings.Join(lines, "\n")
}

// ExitCode is that of a wrong file.
func (e Errors) ExitCode() int { return exit.Wrong }

// Unwrap returns the single errors, for errors.As.
func (e Errors) Unwrap() []error {
	all := make([]error, len(e))
	for i, one := range e {
		all[i] = one
	}
	return all
}

// maxErrors is how many errors are reported at once; users correct the first few and try again.
const maxErrors = 50

// collector gathers errors, each once, while a file is read.
type collector struct {
	list Errors
	seen map[string]bool
}

func (c *collector) add(e *Error) {
	key := e.Error()
	if c.seen == nil {
		c.seen = map[string]bool{}
	}
	if c.seen[key] || len(c.list) >= maxErrors {
		return
	}
	c.seen[key] = true
	c.list = append(c.list, e)
}

// fail adds an error at a value's place.
func (c *collector) fail(n *node, path, problem, allowed, remedy string) {
	c.add(&Error{
		File: n.place.file, Line: n.place.line, Column: n.place.column,
		Path: clipAt(path, 200), Problem: problem, Allowed: allowed, Remedy: remedy,
	})
}

func (c *collector) full() bool { return len(c.list) >= maxErrors }

// err returns the errors sorted by place, or nil.
func (c *collector) err() error {
	if len(c.list) == 0 {
		return nil
	}
	sort.SliceStable(c.list, func(i, j int) bool {
		a, b := c.list[i], c.list[j]
		return place{a.File, a.Line, a.Column}.before(place{b.File, b.Line, b.Column})
	})
	return c.list
}

// AsErrors returns the mistakes in a file that err consists of.
func AsErrors(err error) (Errors, bool) {
	var several Errors
	if errors.As(err, &several) {
		return several, true
	}
	var one *Error
	if errors.As(err, &one) {
		return Errors{one}, true
	}
	return nil, false
}
