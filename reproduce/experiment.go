package reproduce

import (
	"fmt"
	"io/fs"
	"strings"
	"time"

	"nines.dev/nines/examples"
	"nines.dev/nines/exit"
	"nines.dev/nines/spec"
)

// Experiment is the file that tests the claim, in its full or its short form.
func (c Claim) Experiment(quick bool) (*spec.File, error) {
	m := c.Measure
	text, err := fs.ReadFile(examples.Files, m.Experiment)
	if err != nil {
		return nil, exit.Wrongf("no experiment is called %q; name a file below examples/", m.Experiment)
	}
	f, err := spec.Load("examples/"+m.Experiment, text)
	if err != nil {
		return nil, err
	}
	sets := m.Set
	if quick && c.Quick != nil {
		sets = append(append([]string{}, sets...), c.Quick.Set...)
	}
	for _, set := range sets {
		if err := f.Set(set); err != nil {
			return nil, err
		}
	}
	if m.Duet != nil {
		if _, err := f.MakeDuet(m.Duet.A, m.Duet.B); err != nil {
			return nil, err
		}
		if err := f.Set(fmt.Sprintf("duet.for=%dns", time.Duration(c.duetFor(quick)).Nanoseconds())); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// duetFor is how long packets are sent at most to the sides of the claim's duet.
func (c Claim) duetFor(quick bool) Duration {
	switch {
	case quick && c.Quick != nil && c.Quick.For > 0:
		return c.Quick.For
	case c.Measure.Duet.For > 0:
		return c.Measure.Duet.For
	}
	return Duration(20 * time.Second)
}

// Takes is about how long deciding the claim takes; 0 for one that nothing has to be measured for.
func (c Claim) Takes(quick bool) time.Duration {
	switch {
	case c.Measure == nil:
		return 0
	case quick && c.Quick != nil:
		return time.Duration(c.Quick.Takes)
	}
	return time.Duration(c.Measure.Takes)
}

// Run is a measurement that decides claims: those with the same experiment share one.
type Run struct {
	Claims []Claimed
	key    string
}

// Claimed is a claim with its paper.
type Claimed struct {
	Paper *Paper
	Claim *Claim
}

// Runs are the measurements that decide claims on a host, in the papers' order.
func Runs(papers []Paper, h Host, quick bool) []Run {
	var runs []Run
	at := map[string]int{}
	for i := range papers {
		for j := range papers[i].Claims {
			c := &papers[i].Claims[j]
			if c.Measure == nil || len(c.Missing(h)) > 0 {
				continue
			}
			key := c.key(quick)
			if _, known := at[key]; !known {
				at[key] = len(runs)
				runs = append(runs, Run{key: key})
			}
			r := &runs[at[key]]
			r.Claims = append(r.Claims, Claimed{&papers[i], c})
		}
	}
	return runs
}

// key is equal for claims whose experiments are the same.
func (c Claim) key(quick bool) string {
	parts := append([]string{c.Measure.Experiment}, c.Measure.Set...)
	if quick && c.Quick != nil {
		parts = append(parts, c.Quick.Set...)
	}
	if d := c.Measure.Duet; d != nil {
		parts = append(parts, "a")
		parts = append(parts, d.A...)
		parts = append(parts, "b")
		parts = append(parts, d.B...)
		parts = append(parts, time.Duration(c.duetFor(quick)).String())
	}
	return strings.Join(parts, "\x00")
}

// Experiment is the file of the run, which asks a duet for what its claims compare.
func (r Run) Experiment(quick bool) (*spec.File, error) {
	f, err := r.Claims[0].Claim.Experiment(quick)
	if err != nil {
		return nil, err
	}
	for _, one := range r.Claims {
		for _, text := range one.Claim.Holds {
			if err := f.AddExpectation("reproduce/"+one.Paper.ID+"/"+one.Claim.ID+".yaml", text); err != nil {
				return nil, err
			}
		}
	}
	return f, nil
}

// String names the claims that the run decides.
func (r Run) String() string {
	var names []string
	for _, one := range r.Claims {
		names = append(names, one.Paper.ID+" "+one.Claim.ID)
	}
	return strings.Join(names, ", ")
}
