package figure

import (
	"fmt"
	"math"
	"testing"
	"time"

	"nines.dev/nines/result"
)

// made is a made-up result; nothing in it was measured.
type made struct {
	name      string
	records   []result.Record
	maxima    []result.Record
	published []result.Published
	frameLoss bool // the search also measures that
	// search makes a search from the trials' IDs, which are in the order of records.
	search func(ids []string) result.Search
}

// record is a trial with latencies evenly spread from base to ten times as much.
func record(variables map[string]any, repeat int, pps, base float64, lost uint64) result.Record {
	const packets, seconds = 20_000, 4
	h := result.Histograms{Latency: result.NewHistogram(), FromTx: result.NewHistogram(), SendLag: result.NewHistogram()}
	r := result.Record{Histograms: h, Trial: result.Trial{Variables: variables, Repeat: repeat, OfferedPPS: pps, Verdict: result.Clean,
		TxPackets: packets, RxPackets: packets - lost, LostPackets: lost},
		Details: result.Details{Role: "loop", IntendedPPS: pps, DurationNs: 3_500_000_000}}
	if size, ok := variables[sizeKey].(float64); ok {
		r.Details.FrameBytes = int(size)
	}
	for i := range packets - lost {
		ns := int64(base * math.Pow(10, float64(i)/packets))
		h.Latency.Record(ns)
		h.FromTx.Record(ns)
		h.SendLag.Record(20)
		if i%400 == 0 {
			at := int64(i) * 175_000
			r.Outliers = append(r.Outliers, result.Outlier{ID: uint32(i), LatencyNs: ns, FromTxNs: ns, IntendedNs: at, TxNs: at, RxNs: at + ns})
		}
	}
	for second := range seconds {
		part := 1.0
		if second == seconds-1 {
			part = 0.5
		}
		sent := uint64(pps * part)
		r.Rates = append(r.Rates, result.Rate{Second: second, Offered: sent, Sent: sent, Received: sent - sent*lost/packets})
	}
	return r
}

// open writes the result and opens it.
func (m made) open(t testing.TB) Input {
	t.Helper()
	w, err := result.Create(t.TempDir(), m.name, time.Date(2026, 11, 20, 18, 30, 5, 0, time.UTC))
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(err)
	for _, r := range m.maxima {
		_, err := w.AddMaximum(r)
		check(err)
	}
	var ids []string
	for _, r := range m.records {
		trial, err := w.AddTrial(r)
		check(err)
		ids = append(ids, trial.ID)
	}
	if m.search != nil {
		_, err := w.AddSearch(m.search(ids))
		check(err)
	}
	if m.published != nil {
		check(w.WritePublished(m.published))
	}
	check(w.Close())
	r, err := result.Open(w.Dir())
	check(err)
	return Input{Result: r}
}

// sweep has two kinds of link at three rates, with two repeats; the bridge loses packets at the
// highest.
func sweep() made {
	m := made{name: "sweep"}
	for repeat := 1; repeat <= 2; repeat++ {
		for i, kind := range []string{"bridge", "veth"} {
			for _, pps := range []float64{1e4, 2e5, 4e5} {
				lost := uint64(0)
				if kind == "bridge" && pps == 4e5 {
					lost = uint64(3000 + 1000*repeat)
				}
				m.records = append(m.records, record(map[string]any{"links.*.kind": kind, rateKey: pps}, repeat, pps, float64(4000*(i+1)*(9+repeat)/10), lost))
			}
		}
	}
	m.published = []result.Published{
		{Source: "Doe et al., Containers & networks, 2020, figure 2", Figure: result.FigureRate, Series: "bridge (one packet a call)", Points: [][2]float64{{1e5, 1e5}, {4e5, 2.5e5}}},
		{Source: "Doe et al., Containers & networks, 2020, figure 5", Figure: result.FigureLatency, Series: "SR-IOV", Points: [][2]float64{{2, 3000}, {100, 9000}, {10000, 70000}}},
	}
	return m
}

// sizes has the maximum received at each frame size, with two drivers.
func sizes() made {
	m := made{name: "sizes"}
	for repeat := 1; repeat <= 2; repeat++ {
		for _, driver := range []string{"raw", "udp"} {
			for _, size := range []float64{64, 512, 1518} {
				pps := 4e6/math.Sqrt(size) + 1000*float64(repeat)
				if driver == "udp" {
					pps /= 2
				}
				r := record(map[string]any{"traffic.backend": driver, sizeKey: size, rateKey: 0.0}, repeat, pps, 9000, 0)
				r.Details.IntendedPPS = 0
				m.records = append(m.records, r)
			}
		}
	}
	return m
}

// maxima has the maxima of some variants with long names.
func maxima() made {
	m := made{name: "maxima"}
	for repeat := 1; repeat <= 2; repeat++ {
		for i, sockets := range []string{"UDP send/recv", "UDP sendmmsg/recvmmsg", "raw send/recv", "raw sendmmsg/recvmmsg"} {
			r := record(map[string]any{"sockets": sockets, rateKey: 0.0}, repeat, float64(200_000*(i+1)+10_000*repeat), 9000, 0)
			r.Details.IntendedPPS = 0
			m.records = append(m.records, r)
		}
	}
	const source = "Ara et al., On the use of kernel bypass mechanisms for high-performance inter-container communications, table 1"
	m.published = []result.Published{
		{Source: source, Figure: result.FigureMaximum, Series: "UDP send/recv", Points: [][2]float64{{0, 227_000}}},
		{Source: source, Figure: result.FigureMaximum, Series: "raw sendmmsg/recvmmsg", Points: [][2]float64{{0, 594_000}}},
		{Source: source, Figure: result.FigureMaximum, Series: "SR-IOV", Points: [][2]float64{{0, 900_000}}},
	}
	return m
}

// searched is a search for two goals at two frame sizes, with its trials and the latency
// afterwards.
func searched(frameLoss bool) made {
	m := made{name: "searched", frameLoss: frameLoss}
	purposes := []string{"search for NDR", "search for NDR", "latency at 50 % of NDR (not used: disturbed)", "latency at 100 % of NDR, repeat 1"}
	rates := []float64{4e5, 2e5, 1e5, 2e5}
	for i := range purposes {
		lost := uint64(0)
		if rates[i] == 4e5 {
			lost = 2000
		}
		r := record(map[string]any{}, 1, rates[i], 4000*rates[i]/1e5, lost)
		r.Trial.Search, r.Trial.Purpose = "0001", purposes[i]
		m.records = append(m.records, r)
	}
	m.search = func(ids []string) result.Search {
		value := func(v float64) *float64 { return &v }
		s := result.Search{Variables: map[string]any{}, Repeat: 1, Method: "mlrsearch", Conformant: false, Deviations: []string{"quick: trials of 1 s"}}
		for i, id := range ids {
			s.Trials = append(s.Trials, result.SearchTrial{ID: id, Purpose: purposes[i], RatePPS: rates[i], LossRatio: rates[i] / 4e6})
		}
		for _, size := range []float64{64, 1518} {
			for j, goal := range []string{"NDR", "PDR"} {
				s.Findings = append(s.Findings, result.Finding{Name: goal, Unit: "packets/s", Value: value(2e5 * float64(j+2) / math.Sqrt(size)),
					Conditions: map[string]any{"frame_bytes": size}})
			}
		}
		if m.frameLoss {
			for _, load := range []float64{1, 0.5} {
				s.Findings = append(s.Findings, result.Finding{Name: "frame loss rate", Unit: "ratio", Value: value(load / 4), Conditions: map[string]any{"rate_pps": load * 8e5}})
			}
		}
		s.Findings = append(s.Findings, result.Finding{Name: "latency p99", Unit: "ns", Value: value(9000)},
			result.Finding{Name: "NDR", Unit: "packets/s", Reason: "none was found", Conditions: map[string]any{"frame_bytes": 9000.0}})
		return s
	}
	return m
}

// many has more combinations than panels can hold.
func many() made {
	m := made{name: "many"}
	for i := range 25 {
		m.records = append(m.records, record(map[string]any{"traffic.flows": float64(i + 1)}, 1, 1000, float64(1000*(i+1)), 0))
	}
	return m
}

func mustMake(t testing.TB, o Options, inputs ...Input) *Figure {
	t.Helper()
	f, err := Of(inputs, o)
	if err != nil {
		t.Fatalf("%s: %v", o.Kind, err)
	}
	return f
}

func labels(f *Figure) string {
	out := ""
	for _, s := range f.Series {
		out += fmt.Sprintf("%s%s; ", s.Label, sign(s.Source))
	}
	return out
}
