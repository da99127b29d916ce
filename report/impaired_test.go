package report

import (
	"bytes"
	"strings"
	"testing"

	"nines.dev/nines/result"
)

// What was done to links on purpose is told once, with the number of trials; a result without any
// says nothing.
func TestWhatWasDoneOnPurposeIsTold(t *testing.T) {
	h := result.NewHistogram()
	h.Record(5000)
	trial := func(repeat int, details result.Details) result.Record {
		return result.Record{
			Trial:      result.Trial{Repeat: repeat, TxPackets: 1, RxPackets: 1, Verdict: result.Clean},
			Histograms: result.Histograms{Latency: h, FromTx: h, SendLag: h}, Details: details,
		}
	}
	impaired := []result.Impairment{{Link: "in", From: "gen:tx", By: "switch", What: "delay 1ms, loss 0.01", Seed: 1}}
	down := []result.Occurrence{{What: "down", Link: "in", AtNs: 5e9, LengthNs: 2e8}}
	for _, test := range []struct {
		trials []result.Record
		want   []string
	}{
		{[]result.Record{trial(1, result.Details{})}, nil},
		{[]result.Record{trial(1, result.Details{Impairments: impaired}), trial(2, result.Details{Impairments: impaired, Events: down})},
			[]string{"impaired on purpose", "in packets from gen:tx: delay 1ms, loss 0.01 (2 trials)", "events", "in down at 5s for 200ms (1 trial)"}},
	} {
		var out bytes.Buffer
		if err := WriteImpaired(&out, resultOf(t, test.trials...)); err != nil {
			t.Fatal(err)
		}
		text := strings.Join(strings.Fields(out.String()), " ")
		if len(test.want) == 0 && text != "" {
			t.Errorf("it says %q of nothing", text)
		}
		for _, want := range test.want {
			if !strings.Contains(text, want) {
				t.Errorf("it does not say %q:\n%s", want, out.String())
			}
		}
	}
}
