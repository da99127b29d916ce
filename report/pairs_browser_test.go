package report

import (
	"testing"

	"github.com/chromedp/chromedp"

	"nines.dev/nines/result"
)

// TestPairInChromium draws a pair whose second clock gains 50 µs, and takes that off.
func TestPairInChromium(t *testing.T) {
	h := result.NewHistogram()
	for range 1000 {
		h.Record(5000)
	}
	pair := &result.Pair{Pre: "pre.pcap", Post: "post.pcap", Series: result.PairSeries{StepNs: 1e9}}
	for i := range int64(50) {
		value := func(ns int64) *int64 { ns += 1000 * i; return &ns }
		s := &pair.Series
		s.Sent, s.Lost = append(s.Sent, 100), append(s.Lost, uint64(i%3))
		s.LeastNs, s.P50Ns, s.P99Ns, s.MostNs = append(s.LeastNs, value(3000)), append(s.P50Ns, value(5000)), append(s.P99Ns, value(9000)), append(s.MostNs, value(20_000))
		s.ClockNs = append(s.ClockNs, value(0))
		pair.Slowest = append(pair.Slowest, result.SlowPacket{LatencyNs: 90_000 - i, PreFrame: uint64(1 + i), PostFrame: uint64(2 + i), Flow: "192.0.2.1:9 > 192.0.2.2:9 UDP"})
	}
	r := resultOf(t, result.Record{Trial: result.Trial{Repeat: 1, TxPackets: 1000, RxPackets: 1000, Verdict: result.Noisy, Reasons: []string{"the clocks drift"}},
		Histograms: result.Histograms{Latency: h, FromTx: h, SendLag: h}, Pair: pair, Details: result.Details{Role: "capture"}})
	p := openTab(t, writePage(t, r.Dir), 1320, 900)
	p.settle()
	for _, id := range []string{"#pair-latency", "#pair-loss", "#pair-clock"} {
		if ink := p.ink(id); ink < 100 {
			t.Errorf("%s has %d coloured pixels", id, ink)
		}
	}
	if rows := eval[int](p, `document.querySelectorAll("#pair-slowest tbody tr").length`); rows != 50 {
		t.Errorf("%d of the slowest packets, want 50", rows)
	}
	before := eval[string](p, `document.querySelector("#pair-latency canvas").toDataURL()`)
	p.run(chromedp.Click(`#pair [data-value="removed"]`, chromedp.ByQuery))
	p.settle()
	if after := eval[string](p, `document.querySelector("#pair-latency canvas").toDataURL()`); after == before {
		t.Error("the figure is the same without the clocks' movement")
	}
	p.screenshot("pair")
}
