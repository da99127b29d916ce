package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/test/labtest"
)

// experimentWeight is how many labs take as long as a test that runs experiments, roughly.
const experimentWeight = 4

// weight is how long the tests may take, in labs, where that is not known yet: many files of tests have many tests.
func (w work) weight() int {
	if len(w.tests) == 0 {
		return len(w.in.TestGoFiles) + len(w.in.XTestGoFiles)
	}
	w.record.mu.Lock() // another part of the package may run
	defer w.record.mu.Unlock()
	sum := 0
	for _, name := range w.tests {
		sum++
		if slices.ContainsFunc(w.record.Skipped[name], labtest.IsExperiment) {
			sum += experimentWeight - 1
		}
	}
	return sum
}

// seconds is how long the work took the last time, and with it the tests that wait for it.
func (w work) seconds(last string) float64 {
	w.record.mu.Lock()
	defer w.record.mu.Unlock()
	sum := w.record.Seconds[w.name()]
	if w.pass != last {
		for name, seconds := range w.record.Seconds {
			if strings.HasPrefix(name, last) {
				sum += seconds
			}
		}
	}
	return sum
}

// all does work side by side: what takes longest first, or may take longest where that is not known yet. What
// follows a work is done after it.
func (p *pass) all(ctx context.Context, waiting []work, atOnce int, follow func(work) []work) error {
	type end struct {
		work
		err error
	}
	ends := make(chan end)
	running := map[string]int{} // by pass
	var failures []error
	for _, w := range waiting {
		delete(w.record.Failed, w.pass)
	}
	for all := 0; len(waiting) > 0 || all > 0; all-- {
		p.sort(waiting)
		for ; all < atOnce && len(waiting) > 0 && ctx.Err() == nil; all++ {
			i := next(waiting, running)
			w := waiting[i]
			waiting = slices.Delete(waiting, i, i+1)
			running[w.pass]++
			go func() { ends <- end{w, p.one(ctx, w)} }()
		}
		if all == 0 { // interrupted before the first
			break
		}
		e := <-ends
		running[e.pass]--
		if e.err != nil {
			failures = append(failures, fmt.Errorf("%s: %w", e.in.ImportPath, e.err))
		}
		if ctx.Err() != nil {
			waiting = nil
			continue
		}
		for _, w := range follow(e.work) {
			delete(w.record.Failed, w.pass)
			waiting = append(waiting, w)
		}
	}
	return errors.Join(append(failures, ctx.Err())...)
}

func (p *pass) sort(waiting []work) {
	slices.SortStableFunc(waiting, func(a, b work) int {
		return cmp.Or(cmp.Compare(b.seconds(p.last()), a.seconds(p.last())), cmp.Compare(b.weight(), a.weight()))
	})
}

// next is which of the works that wait is to begin. While tests of the pure pass wait, one place is theirs: they tell
// what there is to be done as root, which takes longer and so has all other places.
func next(waiting []work, running map[string]int) int {
	pure := func(w work) bool { return w.pass == labtest.PassPure }
	other := func(w work) bool { return !pure(w) }
	first := other
	if slices.ContainsFunc(waiting, pure) && running[labtest.PassPure] == 0 {
		first = pure
	}
	return max(slices.IndexFunc(waiting, first), 0)
}
