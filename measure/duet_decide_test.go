package measure

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"nines.dev/nines/analysis/duet"
	"nines.dev/nines/analysis/undisturbed"
	"nines.dev/nines/engine/client"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// askedOf is a duet of a length that asks for quantities.
func askedOf(length time.Duration, ask ...string) *spec.Duet {
	return &spec.Duet{For: spec.Duration(length), Least: &spec.Least{Share: 0.01, Latency: 20}, Ask: ask}
}

// alternating are pairs of packets each 100 µs, with latencies around 2 µs, of which those of side B take longer.
func alternating(length time.Duration, longer float64) []sided {
	random := rand.New(rand.NewPCG(1, 2))
	var list []sided
	for due := int64(0); due < int64(length); due += 100_000 {
		first := duet.Side(random.IntN(2))
		for i, side := range []duet.Side{first, 1 - first} {
			latency := 1900 + 200*random.Float64()
			if side == duet.B {
				latency *= longer
			}
			at := due + int64(i)*5_000
			list = append(list, sided{side, undisturbed.Packet{DueNs: at, ReceivedNs: at + int64(latency)}})
		}
	}
	return list
}

// TestLooksDecide: a difference of 5 % is decided, equal sides are the same, and the answers have the order of the file.
func TestLooksDecide(t *testing.T) {
	quiet := []undisturbed.CPU{{Name: "loop"}}
	for longer, want := range map[float64]result.Decision{1.05: result.ALower, 0.95: result.BLower, 1: result.Same} {
		asked := askedOf(3*time.Second, "undisturbed p99", "p50")
		l := &looks{trial: duet.NewTrial(optionsOf(asked))}
		l.through(alternating(3*time.Second, longer), quiet, []int64{int64(time.Second), int64(3 * time.Second)})
		list := compared(l.last, asked.Ask, "")
		if len(list) != len(duet.Questions()) || list[0].Quantity != "undisturbed p99" || list[1].Quantity != "p50" || !list[1].Asked || list[2].Asked {
			t.Fatalf("%+v", list)
		}
		for _, c := range list[:2] {
			if c.Decision != want || c.Difference == nil || c.A == nil {
				t.Errorf("%g times as long: %+v, want %s", longer, c, want)
			}
		}
		for _, c := range compared(l.last, asked.Ask, "nobody saw it")[:1] {
			if c.Decision != result.Undecided || c.Why != "nobody saw it" || c.Difference != nil {
				t.Errorf("of a way without a witness: %+v", c)
			}
		}
		if l.count != 2 || l.last.AtNs != int64(3*time.Second) {
			t.Errorf("%d looks, the last at %d", l.count, l.last.AtNs)
		}
	}
}

func TestQuestionsOfTheFile(t *testing.T) {
	for _, q := range duet.Questions() {
		if got := questionOf(q.String()); got != q {
			t.Errorf("%s is read as %s", q, got)
		}
	}
}

// TestUndecidable: where packets are missing, or a trial is invalid for a fault, nothing is compared.
func TestUndecidable(t *testing.T) {
	rec := &result.Record{}
	rec.Trial.Reasons = []string{"node dut has ended"}
	var whole observation
	whole.outcome.Arrivals = &client.Arrivals{}
	whole.outcome.Rx.Arrivals = &client.ArrivalCounts{}
	if why := undecidable(rec, whole); why != "" {
		t.Error(why)
	}
	astray, missed, none := whole, whole, whole
	astray.astray = []string{"x"}
	missed.outcome.Rx.Arrivals = &client.ArrivalCounts{Missed: 3, OneIn: 2}
	none.outcome.Arrivals = nil
	for want, o := range map[string]observation{
		"the trial is invalid: node dut has ended": astray, "it is not known of 3 packets when they were due and received": missed, "the engine kept no list of the packets": none,
	} {
		if why := undecidable(rec, o); why != want {
			t.Errorf("%q, want %q", why, want)
		}
	}
}

// TestWithoutPauses: what was before a pause stays, what was in it is gone, and what was after it moves.
func TestWithoutPauses(t *testing.T) {
	list := []undisturbed.Interruption{{BeginNs: 10, EndNs: 20}, {BeginNs: 95, EndNs: 120}, {BeginNs: 110, EndNs: 150}, {BeginNs: 190, EndNs: 210}, {BeginNs: 300, EndNs: 310}, {BeginNs: 600, EndNs: 620}}
	got := withoutPauses([]undisturbed.CPU{{Name: "loop", Interruptions: list}}, [][2]int64{{100, 100}, {500, 50}})[0].Interruptions
	want := []undisturbed.Interruption{{BeginNs: 10, EndNs: 20}, {BeginNs: 95, EndNs: 100}, {BeginNs: 100, EndNs: 110}, {BeginNs: 200, EndNs: 210}, {BeginNs: 450, EndNs: 470}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestThePausesOfALookout: when each began, and its length, by how long it had paused at the looks.
func TestThePausesOfALookout(t *testing.T) {
	l := lookout{at: []int64{1000, 2000, 4000}, paused: []int64{0, 30, 50}}
	if got, want := l.pauses(), [][2]int64{{1000, 30}, {2030, 20}}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestSidedPacketsAreWithoutPauses: a packet that was under way in a pause keeps its latency.
func TestSidedPacketsAreWithoutPauses(t *testing.T) {
	got := sidedOf([]client.Sent{{DueNs: 90, ReceivedNs: 130}, {DueNs: 250, ReceivedNs: client.NotReceived, SideB: true}}, [][2]int64{{100, 100}})
	want := []sided{{duet.A, undisturbed.Packet{DueNs: 90, ReceivedNs: 130}}, {duet.B, undisturbed.Packet{DueNs: 150, ReceivedNs: undisturbed.Lost}}}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
