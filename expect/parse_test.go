package expect

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
)

func latency(of Source, figure string, p float64) Quantity {
	return Quantity{Of: of, Figure: figure, P: p}
}

func TestParse(t *testing.T) {
	p99 := latency(Trials, "p99", 0.99)
	of := func(q Quantity) *Quantity { return &q }
	undisturbed := func(q Quantity) Quantity { q.Undisturbed = true; return q }
	for text, want := range map[string]Expectation{
		"p99 < 100us":                 {Subject: p99, Operator: Below, Bound: Bound{Constant: 100e3}},
		"p99≤1.5ms":                   {Subject: p99, Operator: AtMost, Bound: Bound{Constant: 1.5e6}},
		"100µs > p99":                 {Subject: p99, Operator: Below, Bound: Bound{Constant: 100e3}},
		"2 * p99 <= 100us":            {Subject: p99, Operator: AtMost, Bound: Bound{Constant: 50e3}},
		"p99 - 1us <= 100us":          {Subject: p99, Operator: AtMost, Bound: Bound{Constant: 101e3}},
		"p99 < 2 * 50us":              {Subject: p99, Operator: Below, Bound: Bound{Constant: 100e3}},
		"p99_9 < 1s":                  {Subject: latency(Trials, "p99_9", 0.999), Operator: Below, Bound: Bound{Constant: 1e9}},
		"p99.90 < 1s":                 {Subject: latency(Trials, "p99_9", 0.999), Operator: Below, Bound: Bound{Constant: 1e9}},
		"loss == 0":                   {Subject: Quantity{Figure: Loss}, Operator: Equal},
		"loss <= 0":                   {Subject: Quantity{Figure: Loss}, Operator: Equal},
		"loss < 0.01%":                {Subject: Quantity{Figure: Loss}, Operator: Below, Bound: Bound{Constant: 1e-4}},
		"loss < 1e-4":                 {Subject: Quantity{Figure: Loss}, Operator: Below, Bound: Bound{Constant: 1e-4}},
		"lost <= 2k":                  {Subject: Quantity{Figure: Lost}, Operator: AtMost, Bound: Bound{Constant: 2000}},
		"max < 1ms":                   {Subject: Quantity{Figure: Most}, Operator: Below, Bound: Bound{Constant: 1e6}},
		"undisturbed.p99 < 10us":      {Subject: undisturbed(p99), Operator: Below, Bound: Bound{Constant: 10e3}},
		"undisturbed p99 < 10us":      {Subject: undisturbed(p99), Operator: Below, Bound: Bound{Constant: 10e3}},
		"p99 < 10 * p50":              {Subject: p99, Operator: Below, Bound: Bound{Factor: 10, Other: of(latency(Trials, "p50", 0.5))}},
		"p99 <= 110% * reference.p99": {Subject: p99, Operator: AtMost, Bound: Bound{Factor: 1.1, Other: of(latency(Reference, "p99", 0.99))}},
		"reference.p99 + 1us >= p99":  {Subject: p99, Operator: AtMost, Bound: Bound{Factor: 1, Other: of(latency(Reference, "p99", 0.99)), Constant: 1e3}},
		"a.p99 <= 1.05 * b.p99":       {Subject: latency(SideA, "p99", 0.99), Operator: AtMost, Bound: Bound{Factor: 1.05, Other: of(latency(SideB, "p99", 0.99))}},
		"p99(kind=af-xdp) <= 1.1 * p99(kind=veth)": {Subject: Quantity{Figure: "p99", P: 0.99, Key: "kind", Value: "af-xdp"}, Operator: AtMost,
			Bound: Bound{Factor: 1.1, Other: of(Quantity{Figure: "p99", P: 0.99, Key: "kind", Value: "veth"})}},
		"received >= 5Mpps": {Subject: Quantity{Figure: Received}, Operator: AtLeast, Bound: Bound{Constant: 5e6}},
		"received( sockets = raw send/recv ) > 2 * received(sockets=UDP send/recv)": {Subject: Quantity{Figure: Received, Key: "sockets", Value: "raw send/recv"}, Operator: Above,
			Bound: Bound{Factor: 2, Other: of(Quantity{Figure: Received, Key: "sockets", Value: "UDP send/recv"})}},
		"received.variation < 2.5%": {Subject: Quantity{Figure: Variation}, Operator: Below, Bound: Bound{Constant: 0.025}},
		"interval.p50 < 12us":       {Subject: Quantity{Figure: "p50", P: 0.5, Intervals: ReceivedIntervals}, Operator: Below, Bound: Bound{Constant: 12e3}},
		"throughput >= 5Mpps":       {Subject: Quantity{Figure: Throughput}, Operator: AtLeast, Bound: Bound{Constant: 5e6}},
		"interval.p1 < sent.interval.p1": {Subject: Quantity{Figure: "p1", P: 0.01, Intervals: ReceivedIntervals}, Operator: Below,
			Bound: Bound{Factor: 1, Other: of(Quantity{Figure: "p1", P: 0.01, Intervals: SentIntervals})}},
		"interval.within( 7us .. 8us ) > 2 * sent.interval.within(7us..8us)": {Subject: Quantity{Figure: Within, Intervals: ReceivedIntervals, Range: "7us..8us", From: 7e3, To: 8e3}, Operator: Above,
			Bound: Bound{Factor: 2, Other: of(Quantity{Figure: Within, Intervals: SentIntervals, Range: "7us..8us", From: 7e3, To: 8e3})}},
		"throughput(rx=busy_poll) >= throughput(rx=interrupt)": {Subject: Quantity{Figure: Throughput, Key: "rx", Value: "busy_poll"}, Operator: AtLeast,
			Bound: Bound{Factor: 1, Other: of(Quantity{Figure: Throughput, Key: "rx", Value: "interrupt"})}},
		"b.undisturbed.p99 < a.undisturbed.p99": {Subject: undisturbed(latency(SideB, "p99", 0.99)), Operator: Below,
			Bound: Bound{Factor: 1, Other: of(undisturbed(latency(SideA, "p99", 0.99)))}},
		`p99 < 1s where kind=veth,bridge and links.in.name = "a b=c"`: {Subject: p99, Operator: Below, Bound: Bound{Constant: 1e9},
			Where: []Condition{{"kind", []string{"veth", "bridge"}}, {"links.in.name", []string{"a b=c"}}}},
	} {
		got, err := Parse(" " + text + "\t")
		want.Text = text
		if err != nil || !near(&got.Bound, &want.Bound) || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
	}
}

// near reports whether two bounds are the same but for the last digit, and makes them the same.
func near(got, want *Bound) bool {
	is := math.Abs(got.Constant-want.Constant) <= 1e-9*math.Abs(want.Constant) && math.Abs(got.Factor-want.Factor) <= 1e-9*want.Factor
	got.Constant, got.Factor = want.Constant, want.Factor
	return is
}

// Each mistake has its place, its reason and what to write.
func TestMistakesHaveTheirPlace(t *testing.T) {
	for text, want := range map[string]string{
		"":                                      "column 1: ends where",
		"p99":                                   "column 4: has no comparison",
		"p99 <":                                 "column 6: ends where",
		"p99 < 100":                             "column 7: a time needs a unit",
		"p99 < 100 us":                          `column 11: "us" stands behind`,
		"p99 < 100usec":                         `column 7: "100usec" is no number with a unit`,
		"p99 = 100us":                           "column 5: \"=\" is no comparison; write ==",
		"p99 == 100us":                          "column 5: p99 is never exactly a value",
		"loss == 1%":                            "column 6: loss is never exactly a value",
		"p100 < 1us":                            "column 1: p100 is no percentile; write one above p0 and below p100",
		"undisturbed.p101 < 1us":                "column 13: p101 is no percentile",
		"undisturbed.p9x < 1us":                 `column 13: no quantity is called "p9x"`,
		"refrence.p99 > p99":                    `column 1: "refrence" is not known before a dot`,
		"1us < 2us":                             "column 1: nothing measured",
		"p99 < loss":                            "column 7: p99 and loss cannot be compared",
		"p99 < 1%":                              "column 7: p99 has another unit",
		"loss < 1us":                            "column 8: loss has another unit",
		"p99 - reference.p99 < 1us":             "column 7: a side has one quantity",
		"p99 * p50 < 1us":                       "column 7: two quantities",
		"p99 < 2us * p50":                       "column 13: a factor is a plain number",
		"p99 < -1 * p50":                        `column 7: "-" stands where`,
		"p99 < p99":                             "column 7: p99 is compared with itself",
		"a.p99 < 100us":                         "column 7: one side of a duet alone has no interval",
		"a.p99 < p99":                           "column 9: a side of a duet is compared with the other",
		"a.p99 < b.p50":                         "column 9: a.p99 and b.p50 are different",
		"p99 < 1.1 * reference.p50":             "column 7: p99 and reference.p50 are different",
		"p99 < 1.1*reference.p99 + 1us":         "column 7: a factor and a sum",
		"lost <= reference.lost":                "column 9: lost has no reference",
		"reference.p99 < 1us":                   "column 15: only the reference",
		"p99(kind=a) < 1us":                     "column 13: trials of one value",
		"p99(kind=a) < p99(kind=a)":             "column 13: trials of one value",
		"p99(kind=a) < p99":                     "column 13: trials of one value",
		"p99 < p99(kind=a)":                     "column 5: trials of one value",
		"p99(kind=a) < p50(kind=b)":             "column 13: trials in turn",
		"p99(kind=a < p50":                      "column 4: the bracket",
		"p99(kind) < p50":                       "column 4: chooses no trials",
		"a.p99(kind=a) < p50":                   "column 6: chooses no trials",
		"undisturbed.loss == 0":                 "column 13: undisturbed loss is not known",
		"received > 5M":                         "column 12: received has another unit",
		"received > 5":                          "column 12: a rate needs a unit",
		"b.received > a.received":               "column 14: a received rate is compared",
		"received.varation < 1%":                `column 1: no quantity is called "received.varation"`,
		"received.variation < loss":             "column 22: received.variation and loss cannot be compared",
		"received.variation == 0":               "column 20: received.variation is never exactly a value",
		"received.variation < 1us":              "column 22: received.variation has another unit",
		"a.received.variation < 1%":             "column 1: received.variation is not told of a side of a duet",
		"interval.p50 < p50":                    "column 16: interval.p50 and p50 cannot",
		"interval.p50 < 12":                     "column 16: a time needs a unit",
		"interval.p200 < 1us":                   `column 10: no quantity is called "interval.p200"`,
		"reference.interval.p50 < 1us":          "column 20: interval.p50 is not told of the reference",
		"interval.within < 1%":                  "column 17: names no range",
		"interval.within(1us) < 1%":             "column 16: names no range",
		"interval.within(2us..1us) < 1":         "column 16: names no range",
		"interval.within(1..2) < 1%":            "column 16: names no range",
		"interval.p50(k=a) < interval.p50(k=b)": "column 19: trials in turn tell",
		"throughput > 5":                        "column 14: a rate needs a unit",
		"throughput > ndr":                      "column 14: throughput is compared with a number",
		"b.ndr > 1Mpps":                         "column 1: ndr is not told of a side",
		"p99 < 1us where":                       "column 16: is no condition",
		"p99 < 1us where kind":                  "column 17: is no condition",
		"p99 < 1us where kind=":                 "column 22: a value is missing",
		"p99 < 1us where kind=a b=c":            `column 24: "b=c" stands behind a condition`,
		"p99 < 1us where kind=a, b=c":           `column 25: "b=c" is no value`,
		"p99 < 1us where kind='a":               "column 22: the quote does not end",
		strings.Repeat("p", 1001):               "column 1: is longer than",
	} {
		_, err := Parse(text)
		var wrong *Error
		if !errors.As(err, &wrong) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}

// What is read is written as something that is read as the same.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"p99 < 100us", "b.p99 <= 1.05 * a.p99 + 0us where kind=veth,'b c' and x=1", "loss == 0", "1e-3 > loss", "received.variation < 1%", "sent.interval.within(0..1us) < interval.within( 1ns.. 2ms )", "ndr(a=b) > ndr(a=c)", "undisturbed p99.9 ≥ 1s"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		e, err := Parse(text)
		if err != nil {
			var wrong *Error
			if !errors.As(err, &wrong) || wrong.At < 0 || wrong.At > len(text) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		if math.IsNaN(e.Bound.Constant) || math.IsNaN(e.Bound.Factor) || e.Bound.Factor < 0 {
			t.Fatalf("%q: %+v", text, e)
		}
		for _, q := range e.Quantities() {
			again, err := Parse(q.String() + " < " + q.String())
			if err == nil || !strings.Contains(err.Error(), "itself") && !strings.Contains(err.Error(), "only the reference") && !strings.Contains(err.Error(), "trials of one value") {
				t.Fatalf("%q: its quantity %s is read as %+v, %v", text, q, again, err)
			}
		}
	})
}
