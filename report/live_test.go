package report

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// clock is moved by the test.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time          { return c.now }
func (c *clock) forward(d time.Duration) { c.now = c.now.Add(d) }

func TestLiveOnAPipeWritesOnlyLines(t *testing.T) {
	var out strings.Builder
	live := NewLive(&out, LiveOptions{Total: 12, TrialTime: 10 * time.Second})
	first := trial("0001", "veth", 1000, 1, 6900, 21000, -1, 812345)
	live.Say("building %s", "lab\x1b[2J")
	live.Begin(first.Variables, 1)
	live.Progress(Progress{Done: 3 * time.Second, Of: 10 * time.Second})
	live.Trial(first)
	live.Close()
	want := "building lab?[2J\n" +
		" 1/12  kind=veth rate_pps=1000  1,000 of 1,000 pps  p50 6.90 µs  p99 21.0 µs  max 812 µs  clean\n"
	if out.String() != want {
		t.Errorf("got\n%q, want\n%q", out.String(), want)
	}
}

func TestLiveOnATerminalRedrawsOneLine(t *testing.T) {
	var out strings.Builder
	now := &clock{time.Unix(0, 0)}
	live := NewLive(&out, LiveOptions{Total: 3, TrialTime: 10 * time.Second, Now: now.Now})
	live.style = terminal.Style{Terminal: true, Columns: 40}
	one := trial("0001", "veth", 1000, 1, 6900, 21000, -1, 812345)
	live.Begin(one.Variables, 1)
	now.forward(4 * time.Second)
	live.Progress(Progress{Done: 4 * time.Second, Of: 10 * time.Second})
	if !strings.Contains(out.String(), " \r1/3  kind=veth rate_pps=1000  4 s of 1…") {
		t.Errorf("%q", out.String())
	}
	live.style.Columns = 100
	now.forward(8 * time.Second)
	live.Trial(one) // after 12 s, including the building
	out.Reset()
	live.Begin(one.Variables, 2)
	if !strings.Contains(out.String(), " 24 s left") {
		t.Errorf("two trials of 12 s are left: %q", out.String())
	}
	out.Reset()
	now.forward(5 * time.Second)
	live.Progress(Progress{Done: 5 * time.Second, Of: 10 * time.Second})
	if !strings.Contains(out.String(), "5 s of 10 s, 19 s left") {
		t.Errorf("%q", out.String())
	}
	out.Reset()
	live.Close()
	live.Close()
	if strings.ReplaceAll(out.String(), " ", "") != "\r\r" {
		t.Errorf("Close writes %q", out.String())
	}
}

// TestLiveIsForSeveralGoroutines: what watches the nodes has its say in the middle of trials. Each line
// is whole, and the running one is erased once for each time that it was drawn.
func TestLiveIsForSeveralGoroutines(t *testing.T) {
	var out strings.Builder
	const each = 500
	live := NewLive(&out, LiveOptions{Total: 2 * each})
	live.style = terminal.Style{Terminal: true, Columns: 100}
	one := trial("0001", "veth", 1000, 1, 6900, 21000, -1, 812345)
	var all sync.WaitGroup
	for _, do := range []func(){
		func() { live.Status("node dut is healthy") },
		func() { live.Progress(Progress{Done: time.Second, Of: time.Minute, Sent: 10, Received: 10}) },
		func() { live.Trial(one) },
		func() { live.Say("said") },
		func() { live.Found(result.Search{Method: "mlrsearch"}) },
		func() { live.Searching(SearchProgress{Method: "mlrsearch"}) },
	} {
		all.Go(func() {
			for range each {
				do()
			}
		})
	}
	all.Wait()
	live.Close()
	if live.done != 2*each {
		t.Errorf("%d of %d trials and searches were counted", live.done, 2*each)
	}
	if erased := strings.Count(out.String(), " \r"); erased != 3*each { // by Status, Progress and Searching
		t.Errorf("the running line was drawn %d times and erased %d times", 3*each, erased)
	}
	if said := strings.Count(out.String(), "said\n"); said != each {
		t.Errorf("%d of %d lines are whole", said, each)
	}
}

func TestLiveSaysHowATrialGoes(t *testing.T) {
	us := func(v int64) *int64 { v *= 1000; return &v }
	var out strings.Builder
	now := &clock{time.Unix(0, 0)}
	live := NewLive(&out, LiveOptions{Total: 3, TrialTime: 30 * time.Second, Now: now.Now})
	now.forward(30 * time.Second)
	live.Trial(trial("0001", "veth", 1000, 1, 6900, 21000, -1, 812345))
	live.style = terminal.Style{Terminal: true, Columns: 100}
	live.Baseline()
	live.Progress(Progress{Done: time.Second, Sent: 10, Received: 10, RatePPS: 10})
	if !strings.Contains(out.String(), "\rbaseline of the generator alone  10 pps, no loss") {
		t.Errorf("%q", out.String())
	}
	live.style = terminal.Style{}
	live.line.Clear(&out)
	live.Begin(map[string]any{"links.*.kind": "veth"}, 2)
	out.Reset()
	p := Progress{Done: 9 * time.Second, Of: 30 * time.Second, Sent: 90_000, Received: 90_000, RatePPS: 9998, Latency: []SoFar{{us(5), us(31)}}}
	now.forward(9 * time.Second)
	live.Progress(p)
	if out.String() != "" {
		t.Errorf("a line too soon: %q", out.String())
	}
	now.forward(2 * time.Second)
	live.Progress(p)
	live.Progress(p)
	if want := "2/3  kind=veth  9 s of 30 s, 49 s left  9,998 pps, no loss, p50 5.00, p99 31.0 µs  so far 1 clean\n"; out.String() != want {
		t.Errorf("got\n%q, want\n%q", out.String(), want)
	}
}

func TestPacketsOnTheirWayAreNotLost(t *testing.T) {
	us := func(v int64) *int64 { v *= 1000; return &v }
	for _, c := range []struct {
		received uint64
		p99      *int64
		want     string
	}{
		{90_000, us(31), "no loss"}, {90_010, us(31), "no loss"}, {89_950, us(31), "loss < 0.06 %"},
		{85_000, us(31), "loss < 6 %"}, {84_000, us(31), "loss 6.67 %"}, {84_000, nil, "loss 6.67 %"},
		{81_000, us(500_000), "loss < 10 %"}, {79_000, us(500_000), "loss 12.2 %"},
	} {
		p := Progress{Done: 9 * time.Second, Sent: 90_000, Received: c.received, Latency: []SoFar{{us(5), c.p99}}}
		if got := p.loss(); got != c.want {
			t.Errorf("%d of %d, p99 %v: %q, want %q", p.Received, p.Sent, c.p99, got, c.want)
		}
	}
}

func TestLiveSaysWhatADuetHasDecided(t *testing.T) {
	var out strings.Builder
	now := &clock{time.Unix(0, 0)}
	live := NewLive(&out, LiveOptions{Total: 1, TrialTime: 20 * time.Second, Now: now.Now})
	live.Begin(nil, 1)
	open := result.DuetComparison{Quantity: "undisturbed p99", Asked: true, Decision: result.Undecided, Difference: &result.Bounded{Value: 300, Low: -200, High: 900}}
	d := result.Duet{TrafficNs: 2e9, Sides: []result.DuetSide{{Label: "veth"}, {Label: "bridge"}}, Comparisons: []result.DuetComparison{
		{Quantity: "p50", Asked: true, Decision: result.ALower, Difference: &result.Bounded{Value: 1700, Low: 1600, High: 1800}}, open,
	}}
	live.Looked(d)
	live.Looked(d) // nothing new, and soon
	if want := "after 2 s of traffic: p50: veth is lower by 1.70 µs; undisturbed p99: open, -0.20 to 0.90 µs\n"; out.String() != want {
		t.Errorf("got\n%q, want\n%q", out.String(), want)
	}
	out.Reset()
	live.style = terminal.Style{Terminal: true, Columns: 200}
	live.Progress(Progress{Done: 3 * time.Second, Of: 20 * time.Second})
	if want := "1/1  3 s of 20 s  p50: veth is lower by 1.70 µs; undisturbed p99: open, -0.20 to 0.90 µs"; !strings.Contains(out.String(), want) {
		t.Errorf("%q, without %q", out.String(), want)
	}
}

// TestEventsAreLinesOfJSON, also of text and of what a terminal would act on.
func TestEventsAreLinesOfJSON(t *testing.T) {
	var out strings.Builder
	events := NewEvents(&out)
	if _, err := events.Write([]byte("a warning\nand half of")); err != nil {
		t.Fatal(err)
	}
	events.Started("try", "results/try/1", 3)
	events.Progress(Progress{Done: time.Second, Of: 2 * time.Second, Sent: 10, Received: 9, RatePPS: 9, Latency: []SoFar{{of(5), nil}}})
	events.Say("lab\u009b2J")
	if _, err := events.Write([]byte(" one\n\n")); err != nil {
		t.Fatal(err)
	}
	events.Ended("results/try/1")
	var kinds []string
	for line := range strings.Lines(out.String()) {
		var one map[string]any
		if err := json.Unmarshal([]byte(line), &one); err != nil || one["time"] == nil || terminal.Plain(strings.TrimSuffix(line, "\n")) != strings.TrimSuffix(line, "\n") {
			t.Errorf("%q: %v", line, err)
		}
		kinds = append(kinds, one["event"].(string))
		if one["event"] == "progress" && !strings.Contains(line, `"sent":10,"received":9,"rate_pps":9,"latency_ns":[{"p50":5,"p99":null}]`) {
			t.Errorf("%s", line)
		}
	}
	if want := "note started progress note note ended"; strings.Join(kinds, " ") != want || !strings.Contains(out.String(), "and half of one") {
		t.Errorf("%v, want %s: %s", kinds, want, out.String())
	}
}
