package main

import (
	"time"

	"nines.dev/nines/result"
)

// measured is the folder of a result with this many trials, two for each rate.
func measured(trials int) string {
	w := must(result.Create(folder(), "growth", time.Date(2026, 11, 20, 18, 30, 5, 0, time.UTC)))
	for _, err := range []error{w.WriteExperiment([]byte("name: growth\n"), ""), w.WriteHost(map[string]any{}), w.WritePlan(map[string]any{})} {
		if err != nil {
			panic(err)
		}
	}
	for i := range trials {
		rate := float64(1000 + i/2)
		h := result.Histograms{Latency: result.NewHistogram(), FromTx: result.NewHistogram(), SendLag: result.NewHistogram()}
		const packets = 10
		for ns := range int64(packets) {
			h.Latency.Record(5000 + 100*ns)
			h.FromTx.Record(4950 + 100*ns)
			h.SendLag.Record(50)
		}
		must(w.AddTrial(result.Record{Histograms: h, Trial: result.Trial{
			Variables: map[string]any{"traffic.rate_pps": rate}, Repeat: i%2 + 1, OfferedPPS: rate, Verdict: result.Clean,
			TxPackets: packets, RxPackets: packets,
		}}))
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return w.Dir()
}
