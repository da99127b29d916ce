package report

import (
	"math"
	"math/rand"
	"os"
	"sort"
	"testing"
	"time"

	"nines.dev/nines/result"
)

// simulation is a made-up experiment for the tests of tables and of the page. Nothing in it was
// measured.
type simulation struct {
	name    string
	kinds   []string
	rates   []float64
	repeats int
	seconds int
	// slower multiplies every latency; 0 is 1.
	slower float64
	seed   int64
}

func quickstartSimulation() simulation {
	return simulation{name: "quickstart", kinds: []string{"bridge", "veth", "xdp"},
		rates: []float64{1000, 10000, 100000}, repeats: 3, seconds: 10, seed: 1}
}

// write makes a result folder with lognormal latencies, rare timer ticks and rarer preemptions,
// from a fixed seed.
func (s simulation) write(t testing.TB, root string) string {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	started := time.Date(2026, 11, 20, 18, 30, 5, 0, time.UTC)
	w, err := result.Create(root, s.name, started)
	must(err)
	must(w.WriteExperiment([]byte(simulatedExperiment), ""))
	host, err := os.ReadFile("testdata/host.json")
	must(err)
	must(w.WriteHost(rawJSON(host)))
	plan, err := os.ReadFile("testdata/plan.json")
	must(err)
	must(w.WritePlan(rawJSON(plan)))
	random := rand.New(rand.NewSource(s.seed))
	for _, rate := range s.rates {
		_, err = w.AddBaseline(result.Before, s.trial(random, "", rate, 1))
		must(err)
	}
	for repeat := 1; repeat <= s.repeats; repeat++ {
		for _, kind := range s.kinds {
			for _, rate := range s.rates {
				_, err = w.AddTrial(s.trial(random, kind, rate, repeat))
				must(err)
			}
		}
	}
	must(w.Close())
	return w.Dir()
}

type rawJSON []byte

func (r rawJSON) MarshalJSON() ([]byte, error) { return r, nil }

// baseUs is the simulated median in microseconds by link kind.
var baseUs = map[string]float64{"": 3, "bridge": 9, "veth": 7, "xdp": 4.2}

func (s simulation) trial(random *rand.Rand, kind string, rate float64, repeat int) result.Record {
	slower := s.slower
	if slower == 0 {
		slower = 1
	}
	base := baseUs[kind] * 1000 * slower * (1 + 0.02*float64(repeat))
	packets := int(rate) * s.seconds
	recorded := min(packets, 200_000) // enough for the shape; each counts several times
	weight := packets / recorded
	h := result.Histograms{Latency: result.NewHistogram(), FromTx: result.NewHistogram(), SendLag: result.NewHistogram()}
	r := result.Record{Trial: result.Trial{
		Variables: map[string]any{"traffic.rate_pps": rate}, Repeat: repeat, OfferedPPS: rate, Verdict: result.Clean,
	}}
	if kind != "" {
		r.Trial.Variables["links.*.kind"] = kind
	}
	spacing := result.NewHistogram()
	lost := 0
	for i := range recorded {
		intended := int64(float64(i) / float64(recorded) * float64(s.seconds) * 1e9)
		if kind == "bridge" && rate >= 100_000 && random.Float64() < 4e-4 {
			lost += weight
			continue
		}
		lag := int64(40 + random.ExpFloat64()*30)
		latency := base * math.Exp(0.18*random.NormFloat64())
		switch chance := random.Float64(); {
		case chance < 2e-5:
			latency += 300_000 + 900_000*random.Float64()
		case chance < 2e-3:
			latency += 8_000 + 30_000*random.Float64()
		}
		fromTx := int64(latency)
		for range weight {
			h.Latency.Record(fromTx + lag)
			h.FromTx.Record(fromTx)
			h.SendLag.Record(lag)
			spacing.Record(int64(1e9/rate) + lag - 70)
		}
		if fromTx+lag > int64(base*1.4) {
			r.Outliers = append(r.Outliers, result.Outlier{ID: uint32(i * weight), Stream: 1, LatencyNs: fromTx + lag, FromTxNs: fromTx,
				SendLagNs: lag, IntendedNs: intended, TxNs: intended + lag, RxNs: intended + lag + fromTx, PollGapNs: 120, TxCPU: 1, RxCPU: 1})
		}
	}
	sort.Slice(r.Outliers, func(i, j int) bool { return r.Outliers[i].LatencyNs > r.Outliers[j].LatencyNs })
	r.Outliers = r.Outliers[:min(len(r.Outliers), 1000)]
	r.Trial.TxPackets = uint64(recorded * weight)
	r.Trial.LostPackets = uint64(lost)
	r.Trial.RxPackets = r.Trial.TxPackets - r.Trial.LostPackets
	for second := range s.seconds {
		lostHere := uint64(lost / s.seconds)
		r.Rates = append(r.Rates, result.Rate{Second: second, Offered: uint64(rate), Sent: uint64(rate), Received: uint64(rate) - lostHere})
	}
	gap := result.GapMeter{Thread: "loop", CPU: 1, ThresholdNs: 1000, Count: 210, TotalNs: 900_000, MaxNs: 24_000}
	for i := range 20 {
		gap.Worst = append(gap.Worst, result.Gap{AtNs: int64(random.Float64() * float64(s.seconds) * 1e9), LengthNs: int64(24_000 - i*700)})
	}
	if repeat == 2 && kind != "" {
		r.Trial.Verdict = result.Noisy
		gap.MaxNs, gap.TotalNs, gap.Count = 1_240_000, 3_100_000, 412
		gap.Worst[0].LengthNs = gap.MaxNs
		r.Trial.Reasons = []string{"loop: CPU 1 was taken away 412 times, 3.1ms in all, 1.24ms at the longest: the tail above p99.96 is touched by it"}
	}
	r.Details = result.Details{Role: "loop", IntendedPPS: rate, ReceivedPPS: float64(r.Trial.RxPackets) / float64(s.seconds),
		DurationNs: int64(s.seconds) * 1e9, StartedUnixNs: time.Date(2026, 11, 20, 18, 30, 6, 0, time.UTC).UnixNano(),
		TSC:  result.TSC{HzStart: 2.6e9, HzEnd: 2.6e9, DriftPPM: 0.02, BracketNs: 42, Constant: true, Nonstop: true, MaxErrorNs: 60},
		Gaps: []result.GapMeter{gap}, Spacing: spacing.Percentiles(), StealNs: 1_200_000, RunDelayNs: 340_000}
	if lost > 0 {
		r.Details.Drops = []result.Counter{{Name: "sink rx_queue_full", Count: uint64(lost)}}
	}
	r.Histograms = h
	r.EngineLog = []byte("simulated\n")
	return r
}

const simulatedExperiment = `# made up for a test; nothing of it was measured
name: quickstart
topology:
  nodes:
    loadgen: {runtime: netns}
    dut:     {runtime: lxc, cpus: 1, app: {kind: forward}}
  links:
    - {name: in,  endpoints: ["loadgen:tx", "dut:in"],  kind: veth}
    - {name: out, endpoints: ["dut:out", "loadgen:rx"], kind: veth}
traffic: {from: "loadgen:tx", to: "loadgen:rx", frame_bytes: 64, duration: 10s}
sweep:
  links.*.kind: [bridge, veth, xdp]
  traffic.rate_pps: [1000, 10000, 100000]
repeat: 3
`
