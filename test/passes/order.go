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

// slowWeight is how many labs take as long as a test that runs experiments or boots a machine, roughly.
const slowWeight = 4

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
		if slices.ContainsFunc(w.record.Skipped[name], labtest.IsSlow) {
			sum += slowWeight - 1
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
func (p *pass) all(ctx context.Context, waiting []work, limit places, follow func(work) []work) error {
	type end struct {
		work
		err error
	}
	ends := make(chan end)
	var running []work
	var failures []error
	for _, w := range waiting {
		delete(w.record.Failed, w.pass)
	}
	for all := 0; len(waiting) > 0 || all > 0; all-- {
		p.sort(waiting)
		for ; ctx.Err() == nil; all++ {
			i := limit.next(waiting, running)
			if i < 0 {
				break
			}
			w := waiting[i]
			waiting = slices.Delete(waiting, i, i+1)
			w.place = w.freePlace(running)
			running = append(running, w)
			go func() { ends <- end{w, p.one(ctx, w)} }()
		}
		if all == 0 { // interrupted before the first
			break
		}
		e := <-ends
		running = slices.DeleteFunc(running, func(w work) bool { return w.is(e.work) })
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

// places is how many works run at a time, by pass and in all.
type places struct{ pure, other, all int }

// places of root's pass are more than CPUs, as labs wait more than they compute. If the pure pass has not been before,
// it has one beside them, as it tells what there is to be done as root.
func (p *pass) places() places {
	switch {
	case p.again || p.last() == labtest.PassHost || p.last() == labtest.PassQuiet:
		return places{1, 1, 1}
	case p.last() == labtest.PassPure:
		return places{p.atOnce, 0, p.atOnce}
	}
	others := p.atOnce + 2
	if p.names[0] == labtest.PassPure {
		others--
	}
	return places{p.atOnce, others, p.atOnce + 2}
}

// next is which of the works that wait is to begin, −1 for none: one as root before a pure one, which is shorter. The
// parts of one package leave a place to others that the pure pass may still tell of, as one of these would otherwise begin
// late, and everyone wait for it in the end.
func (p places) next(waiting, running []work) int {
	isPure := func(w work) bool { return w.pass == labtest.PassPure }
	pure := count(running, isPure)
	others := len(running) - pure
	if len(running) >= p.all {
		return -1
	}
	if others < p.other {
		more := pure > 0 || slices.ContainsFunc(waiting, isPure)
		i := slices.IndexFunc(waiting, func(w work) bool {
			parts := count(running, func(r work) bool { return r.in == w.in && r.pass == w.pass })
			return !isPure(w) && parts < labtest.Parts && (!more || parts == 0 || parts < p.other-1)
		})
		if i >= 0 {
			return i
		}
	}
	if pure < p.pure {
		return slices.IndexFunc(waiting, isPure)
	}
	return -1
}

func count(list []work, is func(work) bool) (n int) {
	for _, w := range list {
		if is(w) {
			n++
		}
	}
	return n
}
