package main

import (
	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/spec"
)

// expecting is what a verb that measures is told to expect, besides what its file expects.
type expecting struct {
	judging
	expect []string
}

func (e *expecting) flags(c *cobra.Command) {
	c.Flags().StringArrayVar(&e.expect, "expect", nil, "what is expected, besides what the file expects, such as 'p99 < 100us' (repeatable)")
	e.judging.flags(c)
}

// addTo adds what the call expects to what the file does.
func (e expecting) addTo(file *spec.File) error {
	for _, text := range e.expect {
		if err := file.AddExpectation("--expect", text); err != nil {
			return err
		}
	}
	return nil
}

// of is what the file expects. A call that wants decisions written needs something to decide.
func (e expecting) of(file *spec.File) (expected, error) {
	all, err := expectedBy(file)
	if err == nil && len(all.asked) == 0 && e.junit+e.markdown+e.annotations != "" {
		err = exit.Wrongf("%s expects nothing to write to --junit, --markdown or --annotations; add expect: [p99 < 100us] to it, or --expect 'p99 < 100us'", file.Name())
	}
	return all, err
}
