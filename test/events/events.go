// Package events reads what Go's test binaries print, as `go tool test2json` tells it.
package events

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Result is how a test of the top level has ended, with all that it and its subtests
// printed.
type Result struct {
	Name, Action, Output string
	Seconds              float64
	// Skips is what each test or subtest of it printed that was skipped.
	Skips []string
}

// Reader gathers the events of one test binary, and tells each test of the top level when
// it has ended.
type Reader struct {
	Tell func(Result)
	// Output, if it is not nil, is told each line that a test of the top level or one of its subtests prints, also of
	// a test that never ends.
	Output func(test, line string)

	output map[string]*strings.Builder // by test and subtest
	skips  map[string][]string         // by test
}

// Read takes one event, a line.
func (r *Reader) Read(line []byte) error {
	var event struct {
		Action, Test, Output string
		Elapsed              float64
	}
	if err := json.Unmarshal(line, &event); err != nil {
		return fmt.Errorf("an event of a test: %s: %w", line, err)
	}
	if r.output == nil {
		r.output, r.skips = map[string]*strings.Builder{}, map[string][]string{}
	}
	name, _, sub := strings.Cut(event.Test, "/")
	switch event.Action {
	case "output":
		r.said(name).WriteString(event.Output)
		if r.Output != nil {
			r.Output(name, event.Output)
		}
		if sub {
			r.said(event.Test).WriteString(event.Output)
		}
	case "pass", "fail", "skip":
		if event.Action == "skip" && name != "" {
			r.skips[name] = append(r.skips[name], r.said(event.Test).String())
		}
		if name != "" && !sub {
			r.Tell(Result{name, event.Action, r.said(name).String(), event.Elapsed, r.skips[name]})
			delete(r.output, name)
		} else {
			delete(r.output, event.Test)
		}
	}
	return nil
}

func (r *Reader) said(test string) *strings.Builder {
	if r.output[test] == nil {
		r.output[test] = &strings.Builder{}
	}
	return r.output[test]
}
