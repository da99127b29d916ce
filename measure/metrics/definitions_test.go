package metrics

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"nines.dev/nines/result"
)

// random is a stream with loss, ties, and delays of some packets beyond their neighbours', by
// clocks so different that some delays are negative.
func random(r *rand.Rand, n int) Stream {
	s := Stream{SentNs: make([]int64, n), ReceivedNs: make([]int64, n)}
	at := r.Int64N(1 << 50)
	spread := int64(1) << r.IntN(40)
	lossy, wild := r.Float64()*0.5, r.Float64()*0.2
	apart := r.Int64N(min(spread, 1<<24))
	for i := range n {
		at += r.Int64N(100)
		s.SentNs[i] = at
		delay := r.Int64N(50)
		if r.Float64() < wild {
			delay += r.Int64N(spread)
		}
		s.ReceivedNs[i] = at + delay - apart
		if r.Float64() < lossy {
			s.ReceivedNs[i] = Lost
		}
	}
	return s
}

// slow computes the same literally from the definitions, with all pairs of packets.
func slow(s Stream) result.FlowMetrics {
	m := result.FlowMetrics{Sent: uint64(len(s.SentNs)), LossRuns: []result.LossRun{}}
	var order []int
	for i, at := range s.ReceivedNs {
		if at == Lost {
			m.Lost++
			continue
		}
		order = append(order, i)
	}
	m.Received = uint64(len(order))
	runs := make([]uint64, len(s.SentNs)+1)
	for i := range s.ReceivedNs {
		for n := 1; i+n <= len(s.ReceivedNs) && (i == 0 || s.ReceivedNs[i-1] != Lost); n++ {
			if s.ReceivedNs[i+n-1] != Lost {
				break
			}
			if i+n == len(s.ReceivedNs) || s.ReceivedNs[i+n] != Lost {
				runs[n]++
			}
		}
	}
	for n, count := range runs {
		if count > 0 {
			m.LossRuns = append(m.LossRuns, result.LossRun{Length: uint64(n), Count: count})
		}
	}
	var delay, pdv, ipdv, gapsSent, gapsReceived []int64
	for _, i := range order {
		delay = append(delay, s.ReceivedNs[i]-s.SentNs[i])
		if i > 0 && s.ReceivedNs[i-1] != Lost {
			d := delay[len(delay)-1] - delay[len(delay)-2]
			if len(ipdv) == 0 {
				m.IPDVRange = [2]int64{d, d}
			}
			m.IPDVRange = [2]int64{min(m.IPDVRange[0], d), max(m.IPDVRange[1], d)}
			ipdv = append(ipdv, max(d, -d))
		}
	}
	for _, d := range delay {
		pdv = append(pdv, d-slices.Min(delay))
	}
	for i := 1; i < len(s.SentNs); i++ {
		gapsSent = append(gapsSent, s.SentNs[i]-s.SentNs[i-1])
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.ReceivedNs[a], s.ReceivedNs[b]) })
	for i := 1; i < len(order); i++ {
		gapsReceived = append(gapsReceived, s.ReceivedNs[order[i]]-s.ReceivedNs[order[i-1]])
	}
	m.Latency, m.PDV, m.IPDV = sorted(delay), sorted(pdv), sorted(ipdv)
	m.GapsSent, m.GapsReceived = sorted(gapsSent), sorted(gapsReceived)

	var extents, runLengths []float64
	breaks := map[int]bool{}
	run := 0
	for i, packet := range order {
		extent := 0
		for j := i - 1; j >= 0; j-- {
			if order[j] > packet {
				extent = i - j
			}
		}
		if extent == 0 {
			run++
			continue
		}
		if run > 0 {
			runLengths = append(runLengths, float64(run))
		}
		run = 0
		m.Reordering.Reordered++
		extents = append(extents, float64(extent))
		m.Reordering.ExtentMax = max(m.Reordering.ExtentMax, uint64(extent))
		m.Reordering.LateMaxNs = max(m.Reordering.LateMaxNs, s.ReceivedNs[packet]-s.ReceivedNs[order[i-extent]])
		breaks[i-extent] = true
	}
	if run > 0 {
		runLengths = append(runLengths, float64(run))
	}
	if len(order) > 0 {
		m.Reordering.Ratio = float64(len(extents)) / float64(len(order))
	}
	m.Reordering.ExtentMean, m.Reordering.FreeRunMean = mean(extents), mean(runLengths)
	var distances []float64
	last := -1
	for j := range order {
		if breaks[j] {
			if last >= 0 {
				distances = append(distances, float64(j-last))
			}
			last = j
		}
	}
	m.Reordering.GapMean = mean(distances)
	return m
}

func mean(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

func sorted(values []int64) result.Percentiles {
	if len(values) == 0 {
		return result.Percentiles{}
	}
	slices.Sort(values)
	var floats []float64
	for _, v := range values {
		floats = append(floats, float64(v))
	}
	n := len(values)
	return result.MakePercentiles(uint64(n), values[0], values[n-1], mean(floats), func(p result.Percentile) int64 {
		rank := int(math.Ceil(p.P*float64(n) - 1e-9))
		return values[rank-1]
	})
}

// equal compares exactly, except for means.
func equal(got, want result.FlowMetrics) string {
	for _, pair := range []struct {
		name      string
		got, want *result.Percentiles
	}{
		{"latency", &got.Latency, &want.Latency}, {"PDV", &got.PDV, &want.PDV}, {"IPDV", &got.IPDV, &want.IPDV},
		{"gaps sent", &got.GapsSent, &want.GapsSent}, {"gaps received", &got.GapsReceived, &want.GapsReceived},
	} {
		g, w := pair.got.Mean, pair.want.Mean
		if (g == nil) != (w == nil) || g != nil && math.Abs(*g-*w) > 1e-9*math.Abs(*w)+1e-6 {
			return fmt.Sprintf("%s: another mean", pair.name)
		}
		pair.got.Mean, pair.want.Mean = nil, nil
	}
	near := func(g, w *float64) bool {
		same := math.Abs(*g-*w) <= 1e-9*math.Abs(*w)
		*g, *w = 0, 0
		return same
	}
	g, w := &got.Reordering, &want.Reordering
	if !near(&g.ExtentMean, &w.ExtentMean) || !near(&g.GapMean, &w.GapMean) || !near(&g.FreeRunMean, &w.FreeRunMean) {
		return "reordering: another mean"
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Sprintf("got  %+v\nwant %+v", got, want)
	}
	return ""
}

func TestAgainstTheDefinitions(t *testing.T) {
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := random(r, r.IntN(300))
		if wrong := equal(Of("", s), slow(s)); wrong != "" {
			t.Fatalf("seed %d: %s", seed, wrong)
		}
	}
}
