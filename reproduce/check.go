package reproduce

import (
	"errors"
	"fmt"
	"slices"

	"nines.dev/nines/expect"
	"nines.dev/nines/report/figure"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// check says what is wrong with a claim, other than keys that are not known.
func (f *file) check(c Claim) {
	f.required(c.Source, "source")
	f.required(c.Text, "claim")
	if !slices.Contains(Kinds(), c.Kind) {
		f.fail("kind", fmt.Sprintf("unknown kind %q", c.Kind), terminal.Listed(named(Kinds())), "")
	}
	switch judged := c.Measure != nil || len(c.Data) > 0; {
	case c.Measure != nil && len(c.Data) > 0:
		f.fail("data", "a claim is judged by an experiment or by published data", "", "make two claims of it")
	case judged && len(c.Holds) == 0:
		f.fail("holds", "says nothing that has to hold", "", "write expectations, such as p99 < 100us (docs/expectations.md)")
	case !judged && len(c.Holds) > 0:
		f.fail("holds", "has nothing to be decided by", "", "name an experiment (measure) or published data (data)")
	case !judged && c.Open == "" && c.Needs.Boots == "" && c.Needs.Cluster == "" && c.Needs.Hardware == "":
		f.fail("measure", "nothing decides the claim, and nothing says why", "", "name an experiment (measure), data, or what keeps nines from deciding it (open, or needs: hardware, boots, cluster)")
	}
	for name, d := range c.Data {
		given := 0
		for _, one := range []bool{d.Percentiles != "", d.PacketRate != "", d.Pre != "" && d.Post != ""} {
			if one {
				given++
			}
		}
		if given != 1 || (d.Pre == "") != (d.Post == "") {
			f.fail("data", fmt.Sprintf("%s is no published data", name), "", "write one of {percentiles: FILE}, {packetrate: FILE} and {pre: FILE, post: FILE}")
		}
	}
	for _, text := range c.Holds {
		e, err := expect.Parse(text)
		if err != nil {
			f.expectation(text, err)
		} else if c.AboutDisturbance && !e.InTurn() {
			f.fail("about_disturbance", "is for trials that take turns, and "+text+" compares none", "", "write such as p99(competition=300us) > p99(competition=off)")
		}
	}
	if c.Measure != nil {
		f.measure(c)
	}
}

func named[T ~string](kinds []T) (names []string) {
	for _, k := range kinds {
		names = append(names, string(k))
	}
	return names
}

func (f *file) expectation(text string, err error) {
	var wrong *expect.Error
	if !errors.As(err, &wrong) {
		f.fail("holds", err.Error(), "", "")
		return
	}
	remedy, allowed := wrong.Remedy, ""
	if remedy == "" {
		remedy, allowed = terminal.DidYouMean(wrong.Word, wrong.Known), terminal.Listed(wrong.Known)
	}
	f.fail("holds", fmt.Sprintf("%s: %s (column %d)", text, wrong.Problem, wrong.At+1), allowed, remedy)
}

// measure composes the experiment in both forms with the expectations, which checks all of it.
func (f *file) measure(c Claim) {
	if c.Measure.Takes == 0 {
		f.fail("measure.takes", "is missing", "", "say about how long it takes, such as 2m")
	}
	if c.Quick != nil && c.Quick.Takes == 0 {
		f.fail("quick.takes", "is missing", "", "say about how long it takes, such as 20s")
	}
	for _, quick := range []bool{false, true} {
		var runs []spec.Run
		experiment, err := Run{Claims: []Claimed{{&Paper{}, &c}}}.Experiment(quick)
		if err == nil {
			runs, err = experiment.Runs()
		}
		if err == nil {
			if !f.figure(c, runs) {
				return
			}
			continue
		}
		key := "measure"
		if quick {
			key = "quick"
		}
		var errs spec.Errors
		if errors.As(err, &errs) && len(errs) > 0 {
			err = errs[0]
		}
		f.fail(key, err.Error(), "", "")
		return
	}
}

// figure says whether the page can draw of the runs what the claim asks for.
func (f *file) figure(c Claim, runs []spec.Run) bool {
	switch kind := figure.Kind(c.Figure); {
	case c.Figure == "":
	case !slices.Contains(figure.Kinds(), kind):
		f.fail("figure", fmt.Sprintf("unknown kind %q", c.Figure), terminal.Listed(named(figure.Kinds())), "")
		return false
	case kind == figure.Latency && !loads(runs):
		f.fail("figure", "latency is drawn over rates or frame sizes, and the experiment has one of each", "", "leave figure out: the page then has the percentiles of each value")
		return false
	}
	return true
}

// loads reports whether the runs have several rates or frame sizes.
func loads(runs []spec.Run) bool {
	return slices.ContainsFunc(runs, func(r spec.Run) bool {
		first, traffic := runs[0].Experiment.Traffic, r.Experiment.Traffic
		return first != nil && traffic != nil && (traffic.RatePPS != first.RatePPS || traffic.RateBits != first.RateBits || traffic.RateOfMaximum != first.RateOfMaximum || traffic.FrameBytes != first.FrameBytes)
	})
}
