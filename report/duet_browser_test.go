package report

import (
	"math/rand"
	"testing"
	"time"

	"nines.dev/nines/result"
)

// TestTheDuetInChromium: the page begins with the decision, and draws both sides and their difference.
func TestTheDuetInChromium(t *testing.T) {
	w, err := result.Create(t.TempDir(), "duet", time.Date(2026, 11, 20, 18, 30, 5, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewSource(1))
	r := quickstartSimulation().trial(random, "veth", 1000, 1)
	r.Outliers, r.Rates = nil, nil
	half := result.Histograms{Latency: result.NewHistogram(), FromTx: result.NewHistogram(), SendLag: result.NewHistogram()}
	for i, side := range []string{"a", "b"} {
		h := result.NewHistogram()
		for range 10_000 {
			ns := int64(2000*float64(1+i)/1.2 + 500*random.ExpFloat64())
			h.Record(ns)
			half.Latency.Record(ns)
			half.FromTx.Record(ns)
			half.SendLag.Record(50)
		}
		r.Streams = append(r.Streams, result.StreamRecord{Stream: result.Stream{Name: side, OfferedPPS: 1000, TxPackets: 10_000, RxPackets: 10_000}, Latency: h})
	}
	r.Histograms, r.Blocks = half, nil
	r.Trial.TxPackets, r.Trial.RxPackets, r.Trial.LostPackets = 20_000, 20_000, 0
	r.Trial.Duet = compared()
	if _, err := w.AddTrial(r); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	path := writePage(t, w.Dir())
	p := openTab(t, path, 1320, 900)
	p.settle()
	if title := eval[string](p, `document.querySelector(".answer p").textContent`); title != DuetSentences(compared())[0] {
		t.Errorf("the page begins with %q", title)
	}
	for _, id := range []string{"#duet-sides", "#duet-difference"} {
		if ink := p.ink(id); ink < 100 {
			t.Errorf("%s has %d coloured pixels", id, ink)
		}
	}
	p.quiet(path)
}
