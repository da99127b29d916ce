package report

import (
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
	live.Progress(3*time.Second, 10*time.Second)
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
	live.style = terminal.Style{Terminal: true, Columns: 60}
	one := trial("0001", "veth", 1000, 1, 6900, 21000, -1, 812345)
	live.Begin(one.Variables, 1)
	now.forward(4 * time.Second)
	live.Progress(4*time.Second, 10*time.Second)
	if !strings.Contains(out.String(), " \r1/3  kind=veth rate_pps=1000, repeat 1  4 s of 10 s, about…") {
		t.Errorf("%q", out.String())
	}
	live.style.Columns = 100
	now.forward(8 * time.Second)
	live.Trial(one) // after 12 s, including the building
	out.Reset()
	live.Begin(one.Variables, 2)
	if !strings.Contains(out.String(), "about 24 s left") {
		t.Errorf("two trials of 12 s are left: %q", out.String())
	}
	out.Reset()
	now.forward(5 * time.Second)
	live.Progress(5*time.Second, 10*time.Second)
	if !strings.Contains(out.String(), "about 19 s left") {
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
		func() { live.Progress(time.Second, time.Minute) },
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
