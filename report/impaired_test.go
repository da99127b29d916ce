package report

import (
	"bytes"
	"strings"
	"testing"

	"nines.dev/nines/result"
)

// What was done to links deliberately is printed once, with the number of trials; nothing is printed for
// a result without any.
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
			[]string{"deliberately impaired", "in packets from gen:tx: delay 1ms, loss 0.01 (2 trials)", "events", "in down at 5s for 200ms (1 trial)"}},
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

// A foreign result may say of any number of events: each costs the same, and the list is cut.
func TestAnyNumberOfEventsIsCut(t *testing.T) {
	h := result.NewHistogram()
	h.Record(5000)
	var trials []result.Record
	for repeat, first := range []int64{0, 100_000, 0} {
		details := result.Details{Events: []result.Occurrence{{What: "down", Link: strings.Repeat("x", 2*mostLineText)}}}
		for i := range int64([]int{100_000, 1, 2}[repeat]) {
			details.Events = append(details.Events, result.Occurrence{What: "down", Link: "in", AtNs: first + i, LengthNs: 1})
		}
		trials = append(trials, result.Record{
			Trial:      result.Trial{Repeat: repeat + 1, TxPackets: 1, RxPackets: 1, Verdict: result.Clean},
			Histograms: result.Histograms{Latency: h, FromTx: h, SendLag: h}, Details: details,
		})
	}
	var out bytes.Buffer
	if err := WriteImpaired(&out, resultOf(t, trials...)); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{"x… (3 trials)", "in down at 1ns for 1ns (2 trials)", "in down at 58ns for 1ns (1 trial) and others in 2 trials, whose details.json has all"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if len(text) > 10*mostLineText {
		t.Errorf("%d bytes are written", len(text))
	}
}
