package expectation

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/exit"
	"nines.dev/nines/expect"
	"nines.dev/nines/report"
	"nines.dev/nines/result"
)

// steady is a latency of 5 to 6 µs.
func (m *made) steady(int) func(int) float64 {
	return func(int) float64 { return 5e3 + 1e3*m.random.Float64() }
}

func (m *made) judge(t *testing.T, texts ...string) Judgements {
	t.Helper()
	j, err := judgeAll(Options{Result: m.result, Asked: asked(t, texts...)}, m.gatherer())
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// decisions are those of each expectation's cases.
func decisions(j Judgements) string {
	var list []string
	for _, one := range j.List {
		for _, c := range one.Cases {
			list = append(list, string(c.Decision))
		}
	}
	return strings.Join(list, " ")
}

func TestEachCombinationIsDecided(t *testing.T) {
	m := newMade(1)
	m.trials("veth", 6, 2000, m.steady)
	m.trials("bridge", 6, 2000, func(int) func(int) float64 { return func(int) float64 { return 9e3 + 1e3*m.random.Float64() } })
	j := m.judge(t, "p99 < 8us", "p99 < 8us where kind=veth", "p50 < p99", "p99 > 20us", "loss == 0", "max < 1ms", "lost <= 3", "p99 < 5990ns where kind=veth", "p99.99 < 1s where kind=bridge")
	if got, want := decisions(j), "holds violated holds holds holds violated violated holds holds holds holds holds holds undecided undecided"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if j.Decision != expect.Violated || j.Headline() != "5 of 9 expectations hold, 2 are violated, 2 are undecided" {
		t.Errorf("%s: %s", j.Decision, j.Headline())
	}
	last := j.List[len(j.List)-1].Cases[0]
	if last.Because != "" && last.Needs == nil && !strings.Contains(last.Because, "bounds it from above") {
		t.Errorf("%+v", last)
	}
}

// TestNoTrialThatIsNotCleanDecides: an invalid or noisy trial makes nothing hold, and only clean ones show that something
// is violated.
func TestNoTrialThatIsNotCleanDecides(t *testing.T) {
	for _, c := range []struct {
		verdicts []result.Verdict
		want     string // of one that holds, one that is violated, and a fact
	}{
		{[]result.Verdict{result.Clean, result.Clean}, "holds violated holds"},
		{[]result.Verdict{result.Clean, result.Noisy}, "undecided violated undecided"},
		{[]result.Verdict{result.Invalid, result.Clean}, "undecided violated undecided"},
		{[]result.Verdict{result.Noisy, result.Noisy}, "undecided undecided undecided"},
		{[]result.Verdict{result.Invalid, result.Invalid}, "undecided undecided undecided"},
	} {
		m := newMade(2)
		m.trials("veth", 2, 2000, m.steady)
		trials := m.blocks["0001"]
		for i := range m.result.Summary.Trials {
			if m.result.Summary.Trials[i].Verdict = c.verdicts[i]; c.verdicts[i] != result.Clean {
				m.result.Summary.Trials[i].Reasons = []string{"it was disturbed"}
			}
		}
		m.blocks["0001"], m.blocks["0002"] = trials, trials[1:]
		if c.verdicts[1] == result.Noisy && c.verdicts[0] == result.Clean {
			m.blocks["0001"] = trials[:1]
		}
		j := m.judge(t, "p99 < 100us", "p99 < 1us", "loss == 0")
		if got := decisions(j); got != c.want {
			t.Errorf("%v: %s, want %s", c.verdicts, got, c.want)
		}
		for i := range m.result.Summary.Trials {
			m.result.Summary.Trials[i].LostPackets = 1
		}
		lost := expect.Violated // a lost packet is lost, whatever the host did
		if c.verdicts[0] == result.Invalid && c.verdicts[1] == result.Invalid {
			lost = expect.Undecided
		}
		if got := m.judge(t, "loss == 0").Decision; got != lost {
			t.Errorf("%v: of lost packets %s, want %s", c.verdicts, got, lost)
		}
	}
}

func TestLossIsAFactOrAShare(t *testing.T) {
	m := newMade(3)
	m.trials("veth", 1, 2000, m.steady)
	m.result.Summary.Trials[0].LostPackets, m.result.Summary.Trials[0].TxPackets = 20, 2020
	j := m.judge(t, "loss == 0", "lost <= 20", "lost < 20", "loss < 50%", "loss < 2%", "loss < 0.001%", "loss > 0.001%")
	if got, want := decisions(j), "violated holds violated holds undecided violated holds"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if s := j.List[0].Cases[0].Sentence(j.List[0].Expectation); s != "violated: loss is 0.99 %, 20 of 2,020 packets were lost in the 1 trial made" {
		t.Error(s)
	}
}

func TestUndisturbedTakesNoisyTrials(t *testing.T) {
	m := newMade(4)
	m.trials("veth", 3, 2000, m.steady)
	for i := range m.result.Summary.Trials {
		value, low, high := int64(5900+10*i), int64(5800), int64(6000+10*i)
		m.result.Summary.Trials[i].Verdict = result.Noisy
		m.result.Summary.Trials[i].Undisturbed = &result.Undisturbed{Percentiles: []result.UndisturbedPercentile{{Name: "p99", ValueNs: &value, LowNs: &low, HighNs: &high}, {Name: "p99_9", Open: "too few are left"}}}
	}
	j := m.judge(t, "undisturbed.p99 < 7us", "undisturbed.p99 < 5us", "undisturbed.p99 < 6010ns", "undisturbed.p99.9 < 1s", "undisturbed.p98 < 1s")
	if got, want := decisions(j), "holds violated undecided undecided undecided"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Of six trials the median is bounded, but not where most of them are open above.
func TestUndisturbedStaysOpen(t *testing.T) {
	for open, want := range map[int]string{0: "holds", 2: "holds", 4: "undecided"} {
		m := newMade(4)
		m.trials("veth", 6, 2000, m.steady)
		for i := range m.result.Summary.Trials {
			value, low, high := int64(5900+10*i), int64(5800), int64(6000+10*i)
			p := result.UndisturbedPercentile{Name: "p99", ValueNs: &value, LowNs: &low, HighNs: &high}
			if i < open {
				p.HighNs = nil
			}
			m.result.Summary.Trials[i].Undisturbed = &result.Undisturbed{Percentiles: []result.UndisturbedPercentile{p}}
		}
		if got := decisions(m.judge(t, "undisturbed.p99 < 7us")); got != want {
			t.Errorf("%d open: %s, want %s", open, got, want)
		}
	}
}

// Trials of two values that ran in turn decide, if there are six clean ones of each.
func TestTrialsInTurnDecide(t *testing.T) {
	const xdp, veth = "p99(kind=xdp) <= 1.1 * p99(kind=veth)", "p99(kind=veth) <= 1.1 * p99(kind=xdp)"
	both := func(repeats int, interleaved bool) *made {
		m := newMade(11)
		m.trials("veth", repeats, 2000, m.steady)
		m.trials("xdp", repeats, 2000, func(trial int) func(int) float64 {
			return func(int) float64 { return (1 + 0.01*float64(trial)) * (9e3 + 1e3*m.random.Float64()) }
		})
		if trials := m.result.Summary.Trials; interleaved {
			var turns []result.Trial
			for i := range repeats {
				turns = append(turns, trials[i], trials[repeats+i])
			}
			m.result.Summary.Trials = turns
		}
		return m
	}
	if got := decisions(both(6, true).judge(t, xdp, veth, "p99(kind=xdp) >= 1.5 * p99(kind=veth)", "p99(kind=xdp) < 1.71 * p99(kind=veth)")); got != "violated holds holds undecided" {
		t.Error(got)
	}
	noisy := both(7, true)
	noisy.result.Summary.Trials[0].Verdict, noisy.result.Summary.Trials[0].Reasons = result.Noisy, []string{"x"}
	for want, m := range map[string]*made{
		"undecided undecided":  both(5, true),  // too few
		"undecided undecided ": both(6, false), // one after the other
		"violated undecided":   noisy,          // a noisy trial lets nothing hold
	} {
		if got := decisions(m.judge(t, xdp, veth)); got != strings.TrimSpace(want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	_, err := judgeAll(Options{Result: noisy.result, Asked: asked(t, "p99(kind=ovs) <= p99(kind=veth)")}, noisy.gatherer())
	if exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), "no trial has links.*.kind=ovs") {
		t.Error(err)
	}
}

// A duet's sides are compared by its joint intervals; b <= a within the least that matters.
func TestADuetDecides(t *testing.T) {
	value := func(v float64) *float64 { return &v }
	m := newMade(5)
	m.result.Summary.Trials = []result.Trial{{ID: "0001", Verdict: result.Noisy, TxPackets: 1000, Duet: &result.Duet{
		Least: result.DuetLeast{Share: 0.01, LatencyNs: 20}, TrafficNs: int64(10 * time.Second),
		Comparisons: []result.DuetComparison{
			{Quantity: "p50", A: value(10_000), B: value(10_010), Difference: &result.Bounded{Value: 10, Low: -20, High: 40}, Ratio: &result.Bounded{Value: 1.001, Low: 0.998, High: 1.004}, Decision: result.Same},
			{Quantity: "p99", A: value(20_000), B: value(24_000), Difference: &result.Bounded{Value: 4000, Low: 3000, High: 5000}, Ratio: &result.Bounded{Value: 1.2, Low: 1.15, High: 1.25}, Decision: result.ALower},
			{Quantity: "undisturbed p99", Decision: result.Undecided, Why: "too few events lie beyond it", NeedsNs: int64(30 * time.Second)},
		}},
		Streams: []result.Stream{{Name: "a", TxPackets: 500, RxPackets: 500}, {Name: "b", TxPackets: 500, RxPackets: 497, LostPackets: 3}},
	}}
	for text, want := range map[string]expect.Decision{
		"b.p50 <= a.p50":                         expect.Holds,
		"a.p50 <= b.p50":                         expect.Holds,
		"b.p50 < a.p50":                          expect.Violated, // they are the same within the least that matters
		"b.p50 <= 1.002 * a.p50":                 expect.Undecided,
		"b.p99 <= a.p99":                         expect.Violated,
		"a.p99 <= b.p99":                         expect.Holds,
		"a.p99 < b.p99":                          expect.Holds,
		"b.p99 >= a.p99":                         expect.Holds,
		"b.p99 > a.p99":                          expect.Holds,
		"b.p99 <= 1.3 * a.p99":                   expect.Holds,
		"b.p99 <= 1.1 * a.p99":                   expect.Violated,
		"b.p99 <= 1.2 * a.p99":                   expect.Undecided,
		"a.p99 >= 0.7 * b.p99":                   expect.Holds,
		"a.p99 <= 0.9 * b.p99":                   expect.Holds,
		"b.p99 <= a.p99 + 6us":                   expect.Holds,
		"b.p99 <= a.p99 + 2us":                   expect.Violated,
		"b.p99 > a.p99 + 2us":                    expect.Holds,
		"b.lost <= a.lost + 3":                   expect.Holds,
		"b.lost <= a.lost":                       expect.Violated,
		"b.loss == 0":                            expect.Violated,
		"a.loss == 0":                            expect.Holds,
		"b.undisturbed.p99 <= a.undisturbed.p99": expect.Undecided,
		"b.p99.99 <= a.p99.99":                   expect.Undecided,
	} {
		j := m.judge(t, text)
		if c := j.List[0].Cases[0]; j.Decision != want || c.Because == "" {
			t.Errorf("%s: %s; want %s", text, c.Sentence(j.List[0].Expectation), want)
		}
	}
	c := m.judge(t, "b.undisturbed.p99 <= a.undisturbed.p99").List[0].Cases[0]
	if c.Needs == nil || c.Needs.TrafficNs != int64(30*time.Second) {
		t.Errorf("%+v", c.Needs)
	}
	_, err := judgeAll(Options{Result: m.result, Asked: asked(t, "p99 < 1s")}, m.gatherer())
	if exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), "say whose") {
		t.Errorf("%v", err)
	}
}

// A reference of another time decides nothing; those of three days give the yardstick.
func TestReferences(t *testing.T) {
	m := newMade(6)
	m.trials("veth", 6, 2000, m.steady)
	of := func(days ...float64) *references {
		r := newReferences(nil)
		for i, factor := range days {
			other := newMade(uint64(10 + i))
			other.result.Summary.Started = time.Date(2026, 11, 1+i, 0, 0, 0, 0, time.UTC)
			other.trials("veth", 6, 2000, func(int) func(int) float64 {
				return func(int) float64 { return factor * (5e3 + 1e3*other.random.Float64()) }
			})
			one := newReferences([]*result.Result{other.result})
			r.of, r.groups = append(r.of, other.gatherer()), append(r.groups, one.groups...)
		}
		return r
	}
	for _, c := range []struct {
		text string
		days []float64
		want expect.Decision
	}{
		{"p99 <= 1.1 * reference.p99", []float64{100}, expect.Undecided},
		{"p99 <= 1.1 * reference.p99", []float64{1, 1}, expect.Undecided},
		{"p99 <= 1.2 * reference.p99", []float64{1, 1.01, 0.99}, expect.Holds},
		{"p99 <= 1.02 * reference.p99", []float64{1, 1.01, 0.99}, expect.Undecided},
		{"p99 <= reference.p99 + 1us", []float64{1, 1.01, 0.99}, expect.Holds},
		{"p99 <= 0.5 * reference.p99", []float64{1, 1.01, 0.99}, expect.Violated},
		{"p99 <= 1.2 * reference.p99", []float64{0.5, 1, 2}, expect.Undecided},
	} {
		g := m.gatherer()
		groups := report.Groups(m.result.Shown())
		got, err := judge(asked(t, c.text)[0].Expectation, g, groups[0], of(c.days...), levels{0.95, 0.95})
		if err != nil || got.Decision != c.want || len(c.days) < 3 && !strings.Contains(got.Because, "'nines duet'") {
			t.Errorf("%s against %v: %s %s, %v; want %s", c.text, c.days, got.Decision, got.Because, err, c.want)
		}
	}
}

func TestConditionsThatNoTrialMeets(t *testing.T) {
	m := newMade(7)
	m.trials("veth", 1, 2000, m.steady)
	for text, want := range map[string]string{
		"p99 < 1s where kind=xdp": "the values are veth",
		"p99 < 1s where rate=1":   "no single variable",
		"b.p99 <= a.p99":          "no duet",
	} {
		_, err := judgeAll(Options{Result: m.result, Asked: asked(t, text)}, m.gatherer())
		if exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %s", text, err, want)
		}
	}
}

// What goes to pages of CI is whole, whatever is in names.
func TestPagesOfCI(t *testing.T) {
	m := newMade(8)
	m.trials("a|b<c>\x1b", 6, 2000, m.steady)
	m.result.Summary.Name = "evil]]>&\"name"
	j := m.judge(t, "p99 < 1s", "p99 < 1us", "p99.99 < 6us", "loss == 0")
	var page bytes.Buffer
	if err := WriteJUnit(&page, j); err != nil {
		t.Fatal(err)
	}
	var suites junitSuites
	if err := xml.Unmarshal(page.Bytes(), &suites); err != nil || suites.Tests != 4 || suites.Failures != 1 || suites.Errors != 1 {
		t.Errorf("%v: %+v", err, suites)
	}
	page.Reset()
	if err := WriteMarkdown(&page, j); err != nil {
		t.Fatal(err)
	}
	for line := range strings.SplitSeq(page.String(), "\n") {
		if strings.HasPrefix(line, "|") && strings.Count(strings.ReplaceAll(line, `\|`, ""), "|") != 5 {
			t.Errorf("a row has other columns: %s", line)
		}
	}
	if text := page.String(); !strings.Contains(text, "❌ violated") || strings.Contains(text, "\x1b") || strings.Contains(text, "<c>") && !strings.Contains(text, `\<c\>`) {
		t.Error(text)
	}
	page.Reset()
	if err := WriteGitHub(&page, j); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(page.String()), "\n")
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "::error file=lab.yaml,line=11,col=5,title=p99 < 1us::") || !strings.HasPrefix(lines[1], "::warning file=lab.yaml,line=12,") {
		t.Errorf("%q", lines)
	}
	page.Reset()
	if err := WriteTable(&page, j); err != nil || !strings.Contains(page.String(), "2 of 4 expectations hold, 1 is violated, 1 is undecided") {
		t.Errorf("%v: %s", err, page.String())
	}
	encoded, err := json.Marshal(j.Document())
	if err != nil || errors.Is(err, nil) && !bytes.Contains(encoded, []byte(`"decision":"violated"`)) {
		t.Errorf("%v: %s", err, encoded)
	}
}

// What was planned and has no trial is undecided, also if all that was measured is as expected.
func TestWhatWasNotMeasuredIsUndecided(t *testing.T) {
	m := newMade(9)
	m.trials("veth", 6, 2000, m.steady)
	m.result.Summary.Skipped = []result.Skipped{{Variables: map[string]any{"links.*.kind": "ovs"}, Reason: "Open vSwitch is not installed"}}
	planned := []map[string]any{{"links.*.kind": "veth"}, {"links.*.kind": "xdp"}, {"links.*.kind": "ovs"}}
	j, err := judgeAll(Options{Result: m.result, Asked: asked(t, "p99 < 1s", "p99 < 1s where kind=veth,xdp", "p99 < 1s where kind=veth"), Planned: planned}, m.gatherer())
	if err != nil {
		t.Fatal(err)
	}
	if got := decisions(j); got != "undecided undecided holds undecided holds holds" {
		t.Error(got)
	}
	if c := j.List[0].Cases[0]; c.Sentence(j.List[0].Expectation) != "undecided: it was not measured: Open vSwitch is not installed" {
		t.Error(c.Sentence(j.List[0].Expectation))
	}
}
