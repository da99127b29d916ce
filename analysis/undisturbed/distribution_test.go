package undisturbed

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

const us, ms = 1_000, 1_000_000

// steady are packets of one latency, one due in each part of a trial at a random time. Interruptions hold them up.
func steady(lengthNs, apartNs, latencyNs int64, interruptions []Interruption) []Packet {
	var packets []Packet
	r := rand.New(rand.NewPCG(3, 4))
	for at := int64(0); at < lengthNs; at += apartNs {
		due := at + r.Int64N(apartNs)
		p := Packet{due, due + latencyNs}
		for _, i := range interruptions {
			if p.DueNs < i.EndNs && p.ReceivedNs > i.BeginNs {
				p.ReceivedNs += i.EndNs - max(i.BeginNs, p.DueNs)
			}
		}
		packets = append(packets, p)
	}
	return packets
}

// every are interruptions at equal distances.
func every(lengthNs, apartNs, takeNs int64) []Interruption {
	var list []Interruption
	for at := apartNs / 2; at < lengthNs; at += apartNs {
		list = append(list, Interruption{BeginNs: at, EndNs: at + takeNs})
	}
	return list
}

func trialOf(lengthNs int64, packets []Packet, cpus ...CPU) Trial {
	return Trial{LengthNs: lengthNs, Packets: slices.Values(packets), CPUs: cpus}
}

// What interruptions add is gone, at all percentiles.
func TestInterruptionsAreTakenOff(t *testing.T) {
	stalls := every(1000*ms, 7*ms, ms)
	d := Of(trialOf(1000*ms, steady(1000*ms, 10*us, 5*us, stalls), CPU{Name: "CPU 1", Interruptions: stalls}))
	if d.Refused != "" || len(d.Assumed) > 0 || d.Share() < 0.8 || d.Share() > 0.87 || d.Kept+d.Touched != 100_000 {
		t.Fatalf("refused %q, keeps %.3f", d.Refused, d.Share())
	}
	for _, p := range []float64{0.5, 0.99, 0.9999} {
		if got := d.Percentile(p); got.Open != "" || got.Value != 5003 || got.Low == nil || *got.Low > 5000 {
			t.Errorf("p%g: %+v", 100*p, got)
		}
	}
}

func TestATrialWithoutInterruptionsIsAsMeasured(t *testing.T) {
	packets := steady(100*ms, 10*us, 5*us, nil)
	packets[77].ReceivedNs = Lost
	d := Of(trialOf(100*ms, packets, CPU{}))
	if got := d.Percentile(0.99); d.Refused != "" || len(d.Assumed) > 0 || d.Share() != 1 || d.Kept != 9999 || d.KeptLost != 1 || got.Value != 5003 {
		t.Errorf("refused %q, keeps %.3f: %+v", d.Refused, d.Share(), got)
	}
}

func TestRefusals(t *testing.T) {
	seldom := every(1000*ms, 7*ms, ms)
	plain := steady(1000*ms, 10*us, 5*us, seldom)
	r := rand.New(rand.NewPCG(1, 2))
	// A packet comes alone, and another soon after; an interruption follows on the second.
	var pairs []Packet
	var driven []Interruption
	for at := int64(0); at < 1000*ms; at += ms + r.Int64N(ms) {
		pairs = append(pairs, Packet{at, at + 5*us})
		if r.IntN(2) == 0 {
			pairs = append(pairs, Packet{at + 20*us, at + 25*us})
			driven = append(driven, Interruption{BeginNs: at + 30*us, EndNs: at + 60*us})
		}
	}
	for _, c := range []struct {
		name  string
		trial Trial
		why   string
	}{
		{"a full list", trialOf(1000*ms, plain, CPU{}, CPU{Name: "the receiver", Interruptions: seldom, Missing: 3}), "the receiver had 3 more interruptions"},
		{"mostly touched", trialOf(1000*ms, plain, CPU{Interruptions: every(1000*ms, 7*ms, 4*ms)}), "touched 57 %"},
		{"driven", trialOf(1000*ms, pairs, CPU{Interruptions: driven}), "depend on the traffic"},
		{"dense", trialOf(1000*ms, plain, CPU{Interruptions: every(1000*ms, 300*us, 20*us)}), "too closely"},
		{"nothing", trialOf(1000*ms, nil, CPU{}), "no packet"},
	} {
		if d := Of(c.trial); !strings.Contains(d.Refused, c.why) {
			t.Errorf("%s: %q, want %q", c.name, d.Refused, c.why)
		}
	}
}

func TestOpenPercentiles(t *testing.T) {
	stalls := every(1000*ms, 7*ms, ms)
	packets := steady(1000*ms, 100*us, 5*us, stalls)
	var dense []Interruption
	r := rand.New(rand.NewPCG(8, 8))
	for at := 0.0; at < 3000*ms; at += 2 * ms * r.ExpFloat64() {
		dense = append(dense, Interruption{BeginNs: int64(at), EndNs: int64(at) + 100*us})
	}
	slow := steady(3000*ms, 100*us, 5*us, dense)
	for i := 0; i < len(slow); i += 400 {
		slow[i].ReceivedNs = slow[i].DueNs + 5000*us
	}
	short := CPU{Name: "CPU 1", Interruptions: stalls, Short: []Short{{30 * us, 600 * us}}}
	brief := CPU{Name: "CPU 1", Interruptions: stalls, Short: []Short{{400, 600 * us}}}
	for _, c := range []struct {
		name  string
		trial Trial
		p     float64
		why   string
	}{
		{"coarse", trialOf(1000*ms, packets, short, short), 0.99, "too short to be listed may take 0.12 % of the time: p99 needs less than 0.1 %"},
		{"shorter than a tenth of the packets' time", trialOf(1000*ms, packets, brief, brief), 0.99, ""},
		{"not for this one", trialOf(1000*ms, packets, short, short), 0.9, ""},
		{"fewer", trialOf(1000*ms, packets, CPU{Interruptions: stalls}), 0.99999, "packets are left, and p99.999 needs 100000"},
		{"few", trialOf(1000*ms, packets, CPU{Interruptions: stalls}), 0.9999, "packets are left, and p99.99 needs 10000"},
		{"hidden", trialOf(3000*ms, slow, CPU{Interruptions: dense}), 0.999, "hardly escapes"},
	} {
		d := Of(c.trial)
		if got := d.Percentile(c.p); d.Refused != "" || (got.Open == "") != (c.why == "") || !strings.Contains(got.Open, c.why) {
			t.Errorf("%s: refused %q, open %q, want %q", c.name, d.Refused, got.Open, c.why)
		}
	}
}

// A stretch goes on until the path is empty, and takes what begins in it.
func TestSieve(t *testing.T) {
	s := NewSieve()
	s.Add([]CPU{{Interruptions: []Interruption{{BeginNs: 100 * us, EndNs: 120 * us}, {BeginNs: 135 * us, EndNs: 140 * us}}}, {Interruptions: []Interruption{{BeginNs: 500 * us, EndNs: 501 * us}}}})
	for _, c := range []struct {
		due, received int64
		want          bool
		why           string
	}{
		{80, 90, false, "received before"},
		{95, 121, true, "on the path at its begin"},
		{110, 130, true, "due in it"},
		{125, 150, true, "due before the path was empty"},
		{149, 160, true, "the second began before, and a packet is on the path"},
		{160, 170, false, "the path is empty"},
		{300, 500, false, "received as the next begins, less the margin"},
		{400, 505, true, "overtaken"},
		{510, 512, false, "the path is empty again"},
		{520, Lost, false, "lost in a free time"},
	} {
		p := Packet{c.due * us, c.received * us}
		switch {
		case c.received == Lost:
			p.ReceivedNs = Lost
		case c.received == 500:
			p.ReceivedNs -= marginNs
		}
		if got := s.Touched(p); got != c.want {
			t.Errorf("due %d µs, received %d µs (%s): touched %v", c.due, c.received, c.why, got)
		}
	}
	s.Add([]CPU{{Interruptions: []Interruption{{BeginNs: 600 * us, EndNs: 700 * us}}}})
	if !s.Touched(Packet{650 * us, Lost}) {
		t.Error("lost in an interruption, but not touched")
	}
	// Free are 0 to 99.7, 160 to 499.7, 510 to 599.7 µs.
	e := s.stretches.exposure(1000 * us)
	for _, c := range []struct{ latency, want float64 }{{0, 0.5291}, {90_000, 0.0097 + 0.2497}, {400_000, 0}} {
		if got := e.escapes(c.latency); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("escapes with %v ns: %v, want %v", c.latency, got, c.want)
		}
	}
}

// By hand: of the first two samples U is 9 of 35 pairs, with two ties, and z is 8 over √37.25; of the last two z is 20.5
// over 7.
func TestRankSum(t *testing.T) {
	for _, c := range []struct {
		a, b []int
		want float64
	}{
		{[]int{1, 2, 2, 3, 9}, []int{2, 4, 5, 5, 6, 7, 8}, 0.18996},
		{[]int{1, 1, 1}, []int{1, 1}, 1},
		{[]int{1, 2, 3, 4, 5, 6, 7}, []int{8, 9, 10, 11, 12, 13}, 0.0034},
	} {
		both := twoSamples{}
		for _, v := range c.a {
			both.add(0, v)
		}
		for _, v := range c.b {
			both.add(1, v)
		}
		if got, _ := both.differ(); math.Abs(got-c.want) > 1e-4 {
			t.Errorf("%v and %v: %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

// At random times the heap returns all, in order.
func TestTimesHeap(t *testing.T) {
	var h timesHeap
	r := rand.New(rand.NewPCG(5, 5))
	var want []int64
	for range 1000 {
		ns := r.Int64N(500)
		h.push(ns)
		want = append(want, ns)
	}
	slices.Sort(want)
	for i, ns := range want {
		if h[0] != ns {
			t.Fatalf("number %d is %d, want %d", i, h[0], ns)
		}
		h.pop()
	}
}

func BenchmarkDistribution(b *testing.B) {
	stalls := every(10_000*ms, 700*us, 30*us)
	packets := steady(10_000*ms, us, 5*us, nil)
	for b.Loop() {
		Of(trialOf(10_000*ms, packets, CPU{Interruptions: stalls}))
	}
}

// A thread that lists its long turns knows when one began, not where in it an interruption did; and in turns with packets
// it cannot tell short ones from its own work. Neither makes interruptions depend on the traffic.
func TestTurnsOfAThreadAreNoTraffic(t *testing.T) {
	const turn, threshold = 4 * us, 20 * us
	r := rand.New(rand.NewPCG(9, 9))
	var packets []Packet
	for due := int64(0); due < 2000*ms; due += int64(20 * us * r.ExpFloat64()) {
		packets = append(packets, Packet{due, due + turn})
	}
	var seen CPU
	next := 0
	for at := int64(0); at < 2000*ms; at += int64(ms * r.ExpFloat64()) {
		i := Interruption{BeginNs: at, EndNs: at + int64(15*us*r.ExpFloat64())}
		for next < len(packets) && packets[next].ReceivedNs <= at {
			next++
		}
		switch within := next < len(packets) && packets[next].DueNs <= at; {
		case within && i.EndNs-i.BeginNs < threshold: // not seen
		case within:
			seen.Interruptions = append(seen.Interruptions, Interruption{BeginNs: packets[next].DueNs, EndNs: i.EndNs, WithinNs: turn})
		default:
			seen.Interruptions = append(seen.Interruptions, i)
		}
	}
	if d := Of(trialOf(2000*ms, packets, seen)); d.Refused == "" {
		t.Error("without the threshold the test finds nothing")
	}
	seen.ThresholdNs = threshold
	if d := Of(trialOf(2000*ms, packets, seen)); d.Refused != "" {
		t.Error(d.Refused)
	}
}
