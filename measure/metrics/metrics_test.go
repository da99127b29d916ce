package metrics

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"nines.dev/nines/result"
)

// byArrival is a stream of packets sent 10 ns apart, of which the listed ones arrive in this order,
// 7 ns apart.
func byArrival(sent int, order ...int) Stream {
	s := Stream{SentNs: make([]int64, sent), ReceivedNs: make([]int64, sent)}
	for i := range sent {
		s.SentNs[i], s.ReceivedNs[i] = int64(10*i), Lost
	}
	for position, packet := range order {
		s.ReceivedNs[packet] = 1000 + int64(7*position)
	}
	return s
}

// The extents, late times and gaps are worked out by hand from the definitions of RFC 4737:
// sections 3.3, 4.2, 4.3, 4.5 and 4.6. Packets are counted from 0 here.
func TestReordering(t *testing.T) {
	for _, test := range []struct {
		name  string
		sent  int
		order []int
		want  result.Reordering
	}{
		{"in order", 5, []int{0, 1, 2, 3, 4}, result.Reordering{FreeRunMean: 5}},
		{"loss is no reordering", 5, []int{0, 3, 4}, result.Reordering{FreeRunMean: 3}},
		{"none arrived", 3, nil, result.Reordering{}},
		// One packet late by 2: it comes after 4 (its discontinuity), 5. Runs: 5 and 4.
		{"one late", 10, []int{0, 1, 2, 4, 5, 3, 6, 7, 8, 9}, result.Reordering{
			Reordered: 1, Ratio: 0.1, ExtentMax: 2, ExtentMean: 2, LateMaxNs: 14, FreeRunMean: 4.5}},
		// One packet early: all that it overtook are reordered, by 1, 2 and 3. They share the
		// discontinuity, so there is no gap. Runs: 0 1 5, and 6.
		{"one early", 7, []int{0, 1, 5, 2, 3, 4, 6}, result.Reordering{
			Reordered: 3, Ratio: 3.0 / 7, ExtentMax: 3, ExtentMean: 2, LateMaxNs: 21, FreeRunMean: 2}},
		// Two pairs swapped: discontinuities at arrivals 1 and 4. Runs: 0 2, 3 5, 6.
		{"two swaps", 7, []int{0, 2, 1, 3, 5, 4, 6}, result.Reordering{
			Reordered: 2, Ratio: 2.0 / 7, ExtentMax: 1, ExtentMean: 1, LateMaxNs: 7, GapMean: 3, FreeRunMean: 5.0 / 3}},
		// The later part of a burst first. 2 is after 5 (arrival 2), by 4; so is 3, by 5;
		// 4, by 6. Runs: 0 1 5 6 7 8, and 9.
		{"a block late", 10, []int{0, 1, 5, 6, 7, 8, 2, 3, 4, 9}, result.Reordering{
			Reordered: 3, Ratio: 0.3, ExtentMax: 6, ExtentMean: 5, LateMaxNs: 42, FreeRunMean: 3.5}},
		// The extent counts from the earliest arrival sent later, not the last: 1 came after 3
		// (arrival 1) and after 9 (arrival 2).
		{"earliest discontinuity", 10, []int{0, 3, 9, 1}, result.Reordering{
			Reordered: 1, Ratio: 0.25, ExtentMax: 2, ExtentMean: 2, LateMaxNs: 14, FreeRunMean: 3}},
		{"backwards", 4, []int{3, 2, 1, 0}, result.Reordering{
			Reordered: 3, Ratio: 0.75, ExtentMax: 3, ExtentMean: 2, LateMaxNs: 21, FreeRunMean: 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := byArrival(test.sent, test.order...)
			if got := Of("", s).Reordering; got != test.want {
				t.Errorf("got  %+v\nwant %+v", got, test.want)
			}
			for _, packet := range test.order {
				s.Arrival = append(s.Arrival, uint32(packet))
			}
			given := slices.Clone(s.Arrival)
			if got := Of("", s).Reordering; got != test.want {
				t.Errorf("with an arrival: got  %+v\nwant %+v", got, test.want)
			}
			if !slices.Equal(s.Arrival, given) {
				t.Errorf("the arrival was changed to %v", s.Arrival)
			}
		})
	}
}

// One packet of a burst is swapped within it: only Arrival shows it.
func TestPacketsOfOneTimeAreInOrderUnlessArrivalSaysOtherwise(t *testing.T) {
	s := Stream{SentNs: []int64{0, 1, 2}, ReceivedNs: []int64{9, 9, 9}}
	if got := Of("", s).Reordering.Reordered; got != 0 {
		t.Errorf("%d are reordered", got)
	}
	s.Arrival = []uint32{1, 0, 2}
	if got := Of("", s).Reordering.Reordered; got != 1 {
		t.Errorf("with an arrival %d are reordered, want 1", got)
	}
}

// RFC 5481 section 4: D = 100, 130, 90, lost, 95, 115. PDV counts from 90; IPDV has
// +30, −40 and +20, and none across the loss.
func TestDelayVariation(t *testing.T) {
	s := Stream{
		SentNs:     []int64{0, 1000, 2000, 3000, 4000, 5000},
		ReceivedNs: []int64{100, 1130, 2090, Lost, 4095, 5115},
		Duplicates: 2,
	}
	m := Of("f", s)
	if m.Flow != "f" || m.Sent != 6 || m.Received != 5 || m.Lost != 1 || m.Duplicates != 2 {
		t.Errorf("counts: %+v", m)
	}
	check := func(name string, p result.Percentiles, count uint64, least, p50, most int64, mean float64) {
		t.Helper()
		if p.Count != count || *p.Min != least || *p.P50 != p50 || *p.Max != most || math.Abs(*p.Mean-mean) > 1e-9 {
			t.Errorf("%s: count %d, min %d, p50 %d, max %d, mean %g; want %d, %d, %d, %d, %g",
				name, p.Count, *p.Min, *p.P50, *p.Max, *p.Mean, count, least, p50, most, mean)
		}
		if p.P90 != nil {
			t.Errorf("%s: %d samples support no p90", name, count)
		}
	}
	check("latency", m.Latency, 5, 90, 100, 130, 106)
	check("PDV", m.PDV, 5, 0, 10, 40, 16)
	check("IPDV", m.IPDV, 3, 20, 30, 40, 30)
	if m.IPDVRange != [2]int64{-40, 30} {
		t.Errorf("IPDV from %d to %d", m.IPDVRange[0], m.IPDVRange[1])
	}
	check("gaps sent", m.GapsSent, 5, 1000, 1000, 1000, 1000)
	check("gaps received", m.GapsReceived, 4, 960, 1020, 2005, 1253.75)

	s.DueNs = []int64{0, 1000, 2000, 3000, 4000, 4900} // the last was sent 100 ns late
	m = Of("f", s)
	check("latency from when they were due", m.Latency, 5, 90, 100, 215, 126)
	check("gaps sent, of what was really sent", m.GapsSent, 5, 1000, 1000, 1000, 1000)
}

func TestLossRuns(t *testing.T) {
	l := int64(Lost)
	for _, test := range []struct {
		received []int64
		want     []result.LossRun
	}{
		{nil, []result.LossRun{}},
		{[]int64{1, 2}, []result.LossRun{}},
		{[]int64{l, 2, l, l, 5, l}, []result.LossRun{{Length: 1, Count: 2}, {Length: 2, Count: 1}}},
		{[]int64{l, l, l}, []result.LossRun{{Length: 3, Count: 1}}},
	} {
		s := Stream{SentNs: make([]int64, len(test.received)), ReceivedNs: test.received}
		if got := Of("", s).LossRuns; !reflect.DeepEqual(got, test.want) {
			t.Errorf("%v: %v, want %v", test.received, got, test.want)
		}
	}
}

func TestClocksApartShowInTheLatencyAlone(t *testing.T) {
	const apart = -300_000_000_000 // five minutes
	s := Stream{SentNs: []int64{0, 10, 20}, ReceivedNs: []int64{apart + 5, apart + 17, apart + 25}}
	m := Of("", s)
	if *m.Latency.Min != apart+5 || *m.Latency.P50 != apart+5 || *m.Latency.Max != apart+7 {
		t.Errorf("latency %d, %d, %d", *m.Latency.Min, *m.Latency.P50, *m.Latency.Max)
	}
	if *m.PDV.Min != 0 || *m.PDV.Max != 2 || m.IPDVRange != [2]int64{-2, 2} {
		t.Errorf("PDV %d to %d, IPDV %v", *m.PDV.Min, *m.PDV.Max, m.IPDVRange)
	}
}

func TestFlowsAreStreamsOfTheirOwn(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 2))
		s := random(r, 50+r.IntN(300))
		flows := []Flow{{"a", 3}, {"b", 0}, {"c", 1}}
		flowOf := func(i int) int { return i * 7 % 5 % 3 }
		if seed%2 == 0 {
			s.Arrival = arrival(s.ReceivedNs, len(s.ReceivedNs)-int(Of("", s).Lost))
		}
		for f, got := range OfFlows(flows, flowOf, s) {
			one := Stream{}
			for i := range s.SentNs {
				if flowOf(i) == f {
					one.SentNs, one.ReceivedNs = append(one.SentNs, s.SentNs[i]), append(one.ReceivedNs, s.ReceivedNs[i])
				}
			}
			want := slow(one)
			want.Flow, want.Duplicates = flows[f].Name, flows[f].Duplicates
			if wrong := equal(got, want); wrong != "" {
				t.Fatalf("seed %d, flow %s: %s", seed, flows[f].Name, wrong)
			}
		}
	}
}

// Compares two million packets, whose percentiles need the second and third pass, with sorting.
func TestManyPackets(t *testing.T) {
	const n = 2_000_000
	r := rand.New(rand.NewPCG(3, 3))
	s := Stream{SentNs: make([]int64, n), ReceivedNs: make([]int64, n)}
	var delay []int64
	for i := range n {
		s.SentNs[i] = int64(i) * 100
		d := 3000 + min(1_000_000, int64(math.Exp(r.NormFloat64()*3+5)))
		if i == n/2 {
			d = 50_000_000_000 // one comes after all others
		}
		s.ReceivedNs[i] = s.SentNs[i] + d
		delay = append(delay, d)
	}
	m := Of("", s)
	want := sorted(delay)
	for _, p := range result.NamedPercentiles() {
		if got, want := p.Of(m.Latency), p.Of(want); *got != *want {
			t.Errorf("%s is %d, want %d", p.Name, *got, *want)
		}
	}
	if got, want := m.Reordering.ExtentMax, uint64(n-1-n/2); got > want+20_000 || got < want-20_000 {
		t.Errorf("the largest extent is %d, want nearly %d", got, want)
	}
}

func TestSlicesThatDoNotBelongTogetherAreRefused(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Of("", Stream{SentNs: make([]int64, 2), ReceivedNs: make([]int64, 1)})
}

func BenchmarkOf(b *testing.B) {
	r := rand.New(rand.NewPCG(4, 4))
	for _, late := range []float64{0, 0.001, 0.5} {
		b.Run(fmt.Sprintf("late=%g", late), func(b *testing.B) {
			const n = 10_000_000
			s := Stream{SentNs: make([]int64, n), ReceivedNs: make([]int64, n)}
			for i := range n {
				s.SentNs[i] = int64(i) * 100
				s.ReceivedNs[i] = s.SentNs[i] + 3000 + r.Int64N(90)
				if r.Float64() < late {
					s.ReceivedNs[i] += r.Int64N(100_000)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				Of("", s)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/packet")
		})
	}
}
