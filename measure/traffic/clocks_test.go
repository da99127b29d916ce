package traffic

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/exit"
	"nines.dev/nines/plan"
)

// machine is one whose counter runs at some GHz, and which booted some time after 1970.
type machine struct {
	ghz    float64
	booted int64
}

// at is what its engine says at a time since 1970, if its clock is kept.
func (m machine) at(unixNs int64) client.Clock {
	since := unixNs - m.booted
	return client.Clock{
		Scale:      client.Scale{Ticks: uint64(float64(since) * m.ghz), Ns: since, NsPerTick: uint64((1 << 56) / m.ghz)},
		RealtimeNs: unixNs, BracketNs: 100, Synchronised: true, MaxErrorNs: 40_000,
	}
}

const (
	hour = int64(time.Hour)
	day  = int64(1_795_000_000_000_000_000)
)

var sending, receiving = machine{2, day - 300*hour}, machine{2.5, day - 7*hour}

func TestTheSendersCounterIsReadByTheReceiversClock(t *testing.T) {
	// The two are read one after the other.
	c := clocks{tx: sending.at(day), rx: receiving.at(day + int64(time.Second))}
	if c.offsetNs() != -293*hour {
		t.Errorf("the receiver's clock is %v ahead", time.Duration(c.offsetNs()))
	}
	for _, later := range []int64{-int64(time.Second), 0, int64(time.Minute)} {
		ticks := sending.at(day + later).Ticks
		if got, want := c.sender().At(ticks), receiving.at(day+later).Ns; got-want > 2 || want-got > 2 {
			t.Errorf("%v later: %d, and the receiver's clock is %d", time.Duration(later), got, want)
		}
	}
	// 40 µs of each machine, and the readings.
	if c.errorNs() != 80_200 {
		t.Errorf("an error of %d ns", c.errorNs())
	}
}

func TestWhatBecomesOfTwoClocks(t *testing.T) {
	begin := clocks{tx: sending.at(day), rx: receiving.at(day)}
	for name, test := range map[string]struct {
		change  func(end *clocks)
		errorNs int64
		driftNs int64
		lost    string
	}{
		"nothing":                       {func(*clocks) {}, 80_200, 0, ""},
		"the kernel trusts it less":     {func(end *clocks) { end.tx.MaxErrorNs = 90_000 }, 130_200, 0, ""},
		"the sender's clock was set":    {func(end *clocks) { end.tx.RealtimeNs += 7_000 }, 87_200, 7_000, ""},
		"the receiver's clock was set":  {func(end *clocks) { end.rx.RealtimeNs += 7_000 }, 87_200, 7_000, ""},
		"the sender's clock was slewed": {func(end *clocks) { end.tx.Ns += 5_000; end.tx.RealtimeNs += 5_000 }, 85_200, 5_000, ""},
		"the sender's is kept no more":  {func(end *clocks) { end.tx.Synchronised = false }, 80_200, 0, "node a is not synchronised"},
		"the other's is kept no more":   {func(end *clocks) { end.rx.Synchronised = false }, 80_200, 0, "node b is not synchronised"},
	} {
		end := clocks{tx: sending.at(day + 10*int64(time.Second)), rx: receiving.at(day + 11*int64(time.Second))}
		test.change(&end)
		got := begin.until(end, "a", "b")
		if apart(got.ErrorNs, test.errorNs) > 2 || apart(got.DriftNs, test.driftNs) > 2 || !strings.Contains(got.Lost, test.lost) || (test.lost == "") != (got.Lost == "") {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestAnErrorThatNoKernelKnows: linuxptp's programs tell kernels an error of 0, and the file may say what it is.
func TestAnErrorThatNoKernelKnows(t *testing.T) {
	zero := func(m machine) func(int) client.Clock {
		return func(n int) client.Clock {
			c := m.at(day + int64(n)*int64(time.Second))
			c.MaxErrorNs = 0
			return c
		}
	}
	for _, test := range []struct {
		told    time.Duration
		errorNs int64
		untold  string
	}{{0, 200, "a"}, {20 * time.Microsecond, 40_200, ""}} {
		g, _ := pairOf(t, zero(sending), zero(receiving))
		g.clockError = test.told
		outcome, err := g.runPair(t.Context(), client.Trial{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if s := outcome.Synchrony; s == nil || apart(s.ErrorNs, test.errorNs) > 2 || s.Untold != test.untold {
			t.Errorf("told %v: %+v", test.told, s)
		}
	}
}

func apart(a, b int64) int64 { return max(a-b, b-a) }

// clockedEngine is an engine of a machine whose n-th reading, counted from 0, is as said. It sends the trials
// that it gets.
func clockedEngine(t *testing.T, read func(n int) client.Clock, trials chan<- client.Trial) *process {
	t.Helper()
	n := 0
	return answeringEngine(t, func(command string, trial client.Trial) []string {
		switch command {
		case "clock":
			fields, err := json.Marshal(read(n))
			if err != nil {
				t.Error(err)
			}
			n++
			return []string{`{"reply":"clock","ok":true,` + string(fields[1:])}
		case "trial":
			trials <- trial
			return []string{`{"reply":"trial","ok":true}`}
		}
		return nil // an end or abort, whose answer is skipped
	})
}

// pairOf is a generator whose engines are on two machines.
func pairOf(t *testing.T, tx, rx func(n int) client.Clock) (*Generator, chan client.Trial) {
	t.Helper()
	trials := make(chan client.Trial, 2)
	g := &Generator{tx: clockedEngine(t, tx, trials), rx: clockedEngine(t, rx, trials), apart: true}
	g.traffic = plan.Traffic{From: plan.Port{Node: "a"}, To: plan.Port{Node: "b"}}
	return g, trials
}

func TestATrialOfTwoMachines(t *testing.T) {
	at := func(m machine) func(int) client.Clock {
		return func(n int) client.Clock { return m.at(day + int64(n)*int64(time.Second)) }
	}
	g, trials := pairOf(t, at(sending), at(receiving))
	outcome, err := g.runPair(t.Context(), client.Trial{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	generate, sink := <-trials, <-trials
	if generate.Role != "generate" {
		generate, sink = sink, generate
	}
	if generate.Sender != nil || sink.Sender == nil {
		t.Fatalf("%+v, %+v", generate, sink)
	}
	// Both start at the same moment, which is yet to come.
	if begin := generate.StartNs + sending.booted; begin != sink.StartNs+receiving.booted || begin < day+int64(pairLead) {
		t.Errorf("from %d and from %d, at %d", begin, sink.StartNs+receiving.booted, day)
	}
	if s := outcome.Synchrony; s == nil || s.Lost != "" || apart(s.ErrorNs, 80_200) > 2 {
		t.Errorf("%+v", s)
	}
	if len(outcome.Notes) != 1 || !strings.Contains(outcome.Notes[0], "right within 80.2") {
		t.Errorf("%q", outcome.Notes)
	}
}

func TestClocksThatNobodyKeepsAreRefused(t *testing.T) {
	kept := func(int) client.Clock { return sending.at(day) }
	never := func(int) client.Clock { c := receiving.at(day); c.Synchronised = false; return c }
	g, _ := pairOf(t, kept, never)
	_, err := g.runPair(t.Context(), client.Trial{}, nil)
	if exit.Code(err) != exit.Lacks || !strings.Contains(err.Error(), "node b is not synchronised") || !strings.Contains(err.Error(), "phc2sys") {
		t.Errorf("%v", err)
	}
}

func TestAClockThatIsLostInATrialIsTold(t *testing.T) {
	kept := func(n int) client.Clock { return sending.at(day + int64(n)) }
	lost := func(n int) client.Clock {
		c := receiving.at(day + int64(n))
		c.Synchronised = n == 0
		return c
	}
	g, _ := pairOf(t, kept, lost)
	outcome, err := g.runPair(t.Context(), client.Trial{}, nil)
	if err != nil || outcome.Synchrony == nil || !strings.Contains(outcome.Synchrony.Lost, "node b is not synchronised") {
		t.Errorf("%+v, %v", outcome.Synchrony, err)
	}
}
