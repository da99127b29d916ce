package expectation

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"nines.dev/nines/expect"
	"nines.dev/nines/result"
)

// made is a result that is made up: combinations of a kind, each with some trials. Its time blocks are in memory, not in
// files.
type made struct {
	result *result.Result
	random *rand.Rand
	blocks map[string][][]*result.Packed // by the ID of the first trial of a kind
}

func newMade(seed uint64) *made {
	return &made{&result.Result{Dir: "results/made", Summary: result.Summary{Name: "made", Started: time.Date(2026, 11, 20, 18, 30, 5, 0, time.UTC)}},
		rand.New(rand.NewPCG(seed, seed)), map[string][][]*result.Packed{}}
}

// trials adds clean trials of a kind, whose latencies a function makes: at a time of a trial of one second, in packets.
func (m *made) trials(kind string, n, packets int, latency func(trial int) func(at int) float64) {
	const blocks = 20 // each has a histogram, which costs most
	first := ""
	for i := range n {
		id := fmt.Sprintf("%04d", len(m.result.Summary.Trials)+1)
		if i == 0 {
			first = id
		}
		of := latency(i)
		all := result.NewHistogram()
		var list []*result.Packed
		for range blocks {
			h := result.NewHistogram()
			for range packets / blocks {
				h.Record(int64(of(int(all.Count() + h.Count()))))
			}
			all.Merge(h)
			list = append(list, h.Packed())
		}
		m.blocks[first] = append(m.blocks[first], list)
		t := result.Trial{ID: id, Variables: map[string]any{"links.*.kind": kind}, Repeat: i + 1, TxPackets: all.Count(), RxPackets: all.Count(), Latency: all.Percentiles(), Verdict: result.Clean}
		m.result.Summary.Trials = append(m.result.Summary.Trials, t)
	}
}

// gatherer has the blocks as if it had read them.
func (m *made) gatherer() *gatherer {
	g := newGatherer(m.result)
	for first, trials := range m.blocks {
		g.trials[first] = measuredIn(trials)
	}
	return g
}

func asked(t testing.TB, texts ...string) []Asked {
	t.Helper()
	var list []Asked
	for i, text := range texts {
		e, err := expect.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, Asked{e, Place{"lab.yaml", 10 + i, 5}})
	}
	return list
}
