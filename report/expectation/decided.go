package expectation

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"nines.dev/nines/expect"
	"nines.dev/nines/terminal"
)

// known is what is known of a quantity.
type known struct {
	// interval is that at a level; nil where nothing is known, and problem says why.
	interval func(level float64) expect.Interval
	problem  string
	// suspect says why the trials cannot show that an expectation holds; disturbed is true where they show nothing, as the
	// host disturbed all of them.
	suspect   []string
	disturbed bool
	// trials are the IDs of those that count.
	trials []string
	notes  []string
	// what is in words, such as "p99 of 600,000 packets of 6 trials".
	what string
	// clusters is how many independent events lie beyond a percentile; 0 where that plays no part.
	clusters float64
	// few is how many times as many packets the quantity needs to be known at all; 0: there are enough.
	few float64
	// packets and trafficNs are what was measured.
	packets   uint64
	trafficNs int64
}

// decided compares what is known.
func decided(c Case, e expect.Expectation, subject, bound known, l levels) Case {
	for _, one := range []known{subject, bound} {
		if one.problem != "" {
			c.Because = one.problem
			if one.few > 0 {
				c.Needs = one.needs(one.few)
			}
			return c
		}
	}
	at := func(level float64) (expect.Interval, expect.Interval) {
		s, b := subject.interval(level), bound.interval(level)
		if e.Bound.Other != nil {
			b = e.Bound.Bounded(b)
		}
		return s, b
	}
	s, b := at(l.hold)
	c.Subject, c.Bound = &s, &b
	suspect := distinct(slices.Concat(subject.suspect, bound.suspect))
	switch first := expect.Decide(s, e.Operator, b); {
	case first == expect.Holds && len(suspect) == 0:
		c.Decision, c.Because = expect.Holds, subject.what
	case first == expect.Holds, subject.disturbed, bound.disturbed:
		c.Because, c.Notes = strings.Join(suspect, "; "), []string{remedyFor(e.Subject)}
		if e.Subject.P == 0 {
			c.Because = subject.what + ", but " + c.Because
		}
	case violated(at, e.Operator, l.violate):
		c.Decision, c.Because = expect.Violated, strings.Join(append([]string{subject.what}, suspect...), "; ")
	default:
		c.Because, c.Needs = open(s, b, e.Operator, subject)
	}
	if c.Decision != expect.Undecided {
		c.Notes = slices.Concat(subject.notes, bound.notes)
	}
	return c
}

// remedyFor says what to do where trials are not clean.
func remedyFor(q expect.Quantity) string {
	text := "only clean trials let something hold: 'nines doctor' says what disturbs the host"
	if q.P > 0 && !q.Undisturbed && q.Intervals == "" {
		text += fmt.Sprintf("; or expect undisturbed.%s, or compare two versions as a duet", q.Name())
	}
	return text
}

func distinct(texts []string) []string {
	var list []string
	for _, text := range texts {
		if !slices.Contains(list, text) {
			list = append(list, text)
		}
	}
	return list
}

// violated reports whether the two sides are apart at a level.
func violated(at func(level float64) (expect.Interval, expect.Interval), o expect.Operator, level float64) bool {
	s, b := at(level)
	return expect.Decide(s, o, b) == expect.Violated
}

// mostTimes is the most traffic that is told as what a decision would take, as a multiple of what was measured.
const mostTimes = 1e4

// fewestClusters of slow packets beyond a percentile give it an upper end (package confidence).
const fewestClusters = 4

// open says why two intervals do not decide, and about what it would take.
func open(s, b expect.Interval, o expect.Operator, subject known) (string, *Needs) {
	if s.Low == nil && s.High == nil {
		return "there is no interval", nil
	}
	distance := math.Abs(b.Value - s.Value)
	ends := [2]float64{distance, distance}
	for i, end := range []*float64{s.Low, s.High} {
		if end != nil {
			ends[i] = math.Abs(*end - s.Value)
		}
	}
	upper := o == expect.Below || o == expect.AtMost
	toward := ends[0] // the end that reaches beyond the bound
	if s.Value < b.Value {
		toward = ends[1]
	}
	why := "the interval includes the limit"
	times := math.Pow(toward/distance, 2)
	if s.High == nil && s.Value < b.Value && upper {
		if subject.clusters == 0 { // not a percentile: more of the same tells no more
			return "nothing bounds it from above", nil
		}
		why = "nothing bounds it from above, as too few clusters of slow packets lie beyond"
		times = max(times, fewestClusters/max(subject.clusters, 0.01))
	}
	if subject.packets == 0 {
		return why, nil
	}
	if distance == 0 || times > mostTimes {
		return why + fmt.Sprintf(", and the value is too near the limit to be told apart from it by less than %s times the traffic", terminal.Grouped(mostTimes)), nil
	}
	return why, subject.needs(max(times, 1.1))
}

// needs is that of so many times as much traffic.
func (k known) needs(times float64) *Needs {
	return &Needs{Times: times, Packets: uint64(times * float64(k.packets)), TrafficNs: int64(times * float64(k.trafficNs))}
}
