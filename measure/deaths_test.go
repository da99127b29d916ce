package measure

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/exit"
	"nines.dev/nines/result"
)

func TestDeathsSayInWhichTrialAndWhatBecameOfIt(t *testing.T) {
	err := &DeathsError{Deaths: []Death{
		{Variables: map[string]any{"traffic.rate_pps": 1000, "links.*.kind": "veth"}, Repeat: 2, Reason: "node dut is dead", Fate: Kept},
		{Repeat: 1, Reason: "node gen: the engine is gone", Fate: Again},
	}}
	const want = `parts of the network died:
  links.*.kind=veth traffic.rate_pps=1000 repeat 2: node dut is dead (kept as invalid)
  repeat 1: node gen: the engine is gone (measured again)`
	if got := err.Error(); got != want {
		t.Errorf("it says\n%s\nwant\n%s", got, want)
	}
	if !err.Whole() {
		t.Error("no trial is missing")
	}
	err.Deaths[1].Fate = Lost
	if err.Whole() {
		t.Error("a trial is missing")
	}
}

// watching records deaths.
type watching struct {
	silent
	died []Death
}

func (w *watching) Died(d Death) { w.died = append(w.died, d) }

// The steps fail as they do when an engine or a node is gone; nothing is running.
func TestDeathsAreOutlived(t *testing.T) {
	gone := fmt.Errorf("node gen: trial: %w\nits last words", client.ErrGone)
	full := &result.WriteError{Path: "trials", Err: syscall.ENOSPC}
	lacking := errors.Join(client.ErrGone, &exit.MissingError{Capability: "hugepages"})
	for name, test := range map[string]struct {
		again bool
		// outcomes are the errors of the steps; died is what died in those without an error.
		outcomes []error
		died     map[int]string
		fates    []Fate
		ends     error
	}{
		"nothing":                       {outcomes: []error{nil, nil}},
		"a trial":                       {outcomes: []error{gone, nil}, fates: []Fate{Lost}},
		"a trial that is measured":      {outcomes: []error{nil, nil}, died: map[int]string{0: "node dut is dead"}, fates: []Fate{Kept}},
		"what is built on":              {again: true, outcomes: []error{gone, nil}, fates: []Fate{Again}},
		"a maximum that was measured":   {again: true, outcomes: []error{&diedError{"node dut is dead"}, nil}, fates: []Fate{Again}},
		"too often":                     {outcomes: []error{gone, gone, gone, nil}, fates: []Fate{Lost, Lost, Lost}, ends: errGaveUp},
		"too often, built on":           {again: true, outcomes: []error{gone, gone, gone, nil}, fates: []Fate{Again, Again, Again}, ends: errGaveUp},
		"often, but not in a row":       {outcomes: []error{gone, gone, nil, gone, gone, nil}, fates: []Fate{Lost, Lost, Lost, Lost}},
		"what the host lacks":           {outcomes: []error{lacking, nil}, ends: lacking},
		"a full disk":                   {outcomes: []error{full, nil}, ends: full},
		"a full disk after a death":     {outcomes: []error{gone, full, nil}, fates: []Fate{Lost}, ends: full},
		"a full disk while it is again": {again: true, outcomes: []error{gone, full}, fates: []Fate{Again}, ends: full},
	} {
		t.Run(name, func(t *testing.T) {
			watch := &watching{}
			b, d := &bench{watch: watch}, deaths{}
			done := 0
			step := func() error {
				if what := test.died[done]; what != "" {
					b.died = append(b.died, what)
				}
				done++
				return test.outcomes[done-1]
			}
			var err error
			for done < len(test.outcomes) && err == nil {
				if test.again {
					err = d.again(context.Background(), b, run{}, 1, step)
				} else {
					err = d.once(context.Background(), b, run{}, 1, step)
				}
			}
			if !errors.Is(err, test.ends) {
				t.Errorf("it ended with %v, want %v", err, test.ends)
			}
			var fates []Fate
			for _, death := range d.all {
				fates = append(fates, death.Fate)
				if death.Reason == "" || strings.Contains(death.Reason, "\n") {
					t.Errorf("the reason is %q", death.Reason)
				}
			}
			if !slices.Equal(fates, test.fates) {
				t.Errorf("what became of them: %q, want %q", fates, test.fates)
			}
			if told := d.error(true); (told != nil) != (len(test.fates) > 0) {
				t.Errorf("the end tells %v", told)
			}
			if d.gaveUp != errors.Is(test.ends, errGaveUp) {
				t.Errorf("gave up: %t", d.gaveUp)
			}
		})
	}
}
