package clock_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/analyze/clock"
)

// wandering is a network whose second clock is steered: it moves by a sine of this amplitude and period on a straight
// line of its own.
func wandering(n network, amplitudeNs, periodNs float64, seed uint64) (sent, latency []int64) {
	sent, latency = n.run(seed)
	for i := range latency {
		if latency[i] != clock.Lost {
			latency[i] += int64(amplitudeNs * math.Sin(2*math.Pi*float64(sent[i]-sent[0])/periodNs))
		}
	}
	return sent, latency
}

func TestWander(t *testing.T) {
	n := network{packets: 50_000, gapNs: 100_000, delayNs: 3000, jitter: 400} // 5 s
	for name, c := range map[string]struct {
		amplitudeNs, periodNs, ppm float64
	}{
		"by microseconds":  {2000, 2e9, 0},
		"by milliseconds":  {3e6, 3e9, 0},
		"while it drifts":  {5000, 1.7e9, 4},
		"more slowly":      {4000, 9e9, 0},
		"fast, but little": {700, 0.6e9, 0},
	} {
		for seed := range uint64(6) {
			n.ppm = c.ppm
			sent, latency := wandering(n, c.amplitudeNs, c.periodNs, seed)
			e := clock.Of(sent, latency)
			if len(e.Steps) > 0 {
				t.Fatalf("%s: steps that are none: %+v", name, e.Steps)
			}
			if e.Wander == nil {
				if name == "more slowly" && e.Drift.Known() {
					continue // half a period is nearly straight
				}
				t.Fatalf("%s: no wander", name)
			}
			// What is left once the edge is taken off has the percentile of a straight clock.
			quiet := n
			quiet.ppm = 0
			_, truth := quiet.run(seed)
			var rest, straight []int64
			for i, l := range latency {
				if l == clock.Lost {
					continue
				}
				rest, straight = append(rest, l-e.Moved(sent[i])), append(straight, truth[i])
			}
			slices.Sort(rest)
			slices.Sort(straight)
			at, middle := len(rest)*90/100, len(rest)/2
			offset := rest[middle] - straight[middle] // nobody can tell it
			if off := math.Abs(float64(rest[at] - offset - straight[at])); off > 0.05*c.amplitudeNs+300 {
				t.Errorf("%s: p90 is %.0f ns off after the edge was taken off", name, off)
			}
		}
	}
}

// TestNoWander has straight clocks: no wander is seen, whatever the load.
func TestNoWander(t *testing.T) {
	for name, n := range map[string]network{
		"still":        {},
		"drifts":       {ppm: 30},
		"a step":       {stepAfter: 20_000, stepNs: 80_000},
		"microseconds": {ppm: 5, resolutionNs: 1000},
		"milliseconds": {resolutionNs: 1_000_000},
		"more jitter":  {jitter: 20_000},
		"loses a lot":  {loss: 0.7},
	} {
		n.packets, n.gapNs, n.delayNs = 50_000, 100_000, 3000
		if n.jitter == 0 {
			n.jitter = 400
		}
		found := 0
		for seed := range uint64(15) {
			if e := clock.Of(n.run(seed)); e.Wander != nil {
				found++
				t.Logf("%s: %+v", name, *e.Wander)
			}
		}
		if found > 1 {
			t.Errorf("%s: a wander that is none in %d of 15", name, found)
		}
	}
}

func TestMovedIsBetweenThePoints(t *testing.T) {
	e := clock.Estimate{Edge: []clock.Point{{AtNs: 100, Ns: 50}, {AtNs: 200, Ns: 70}, {AtNs: 300, Ns: 1070}}, Steps: []clock.Step{{AtNs: 260, ByNs: 1000}}}
	for at, want := range map[int64]int64{0: 0, 100: 0, 150: 10, 200: 20, 259: 20, 260: 1020, 900: 1020} {
		if got := e.Moved(at); got != want {
			t.Errorf("at %d: %d, want %d", at, got, want)
		}
	}
	if got := (clock.Estimate{}).Moved(5); got != 0 {
		t.Errorf("without an edge: %d", got)
	}
}

func TestWanderIsSaid(t *testing.T) {
	e := clock.Of(wandering(network{packets: 20_000, gapNs: 100_000, delayNs: 3000, jitter: 200}, 5000, 1e9, 1))
	if said := strings.Join(e.Sentences(), "\n"); !strings.Contains(said, "the minimum latency wanders by ") || !strings.Contains(said, "--follow-clock") {
		t.Error(said)
	}
}
