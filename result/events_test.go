package result

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func tracedTrial(t *testing.T) (Record, *Writer) {
	t.Helper()
	w, err := Create(t.TempDir(), "traced", time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	h := NewHistogram()
	h.Record(1000)
	r := Record{
		Trial:      Trial{Repeat: 1, TxPackets: 1, RxPackets: 1, Verdict: Clean},
		Histograms: Histograms{Latency: h, FromTx: h, SendLag: h},
		Details:    Details{Trace: &Trace{Stretches: [][2]int64{{10, 90}}}},
		Events: []Event{
			{BeginNs: 10, EndNs: 90, CPU: 1, Kind: EventThread, Name: "nines-measure", TID: 7, Other: -1, Preempted: true},
			{BeginNs: 20, EndNs: 30, CPU: 1, Kind: EventSoftirq, Name: "NET_RX", TID: 7, Value: 3, Other: -1},
			{BeginNs: 25, EndNs: 25, CPU: 0, Kind: EventIPI, Name: "reschedule", TID: 7, Other: 1},
		},
		Ordinary: []Outlier{{ID: 3, Stream: 1, LatencyNs: 1000, RxCPU: 1}},
	}
	return r, w
}

func TestEventsAreReadAsTheyWereWritten(t *testing.T) {
	r, w := tracedTrial(t)
	trial := mustAdd(t, w, r)
	opened := mustOpen(t, w.Dir())
	folder := opened.TrialFolder(trial.ID)
	if events, err := folder.Events(); err != nil || !reflect.DeepEqual(events, r.Events) {
		t.Errorf("%+v, %v", events, err)
	}
	if ordinary, err := folder.Ordinary(); err != nil || !reflect.DeepEqual(ordinary, r.Ordinary) {
		t.Errorf("%+v, %v", ordinary, err)
	}
}

// A traced trial without events still has its files; an untraced one has none.
func TestTrialsWithoutEvents(t *testing.T) {
	for _, traced := range []bool{true, false} {
		r, w := tracedTrial(t)
		r.Events, r.Ordinary = nil, nil
		if !traced {
			r.Details.Trace = nil
		}
		trial := mustAdd(t, w, r)
		opened := mustOpen(t, w.Dir())
		folder := opened.TrialFolder(trial.ID)
		events, err := folder.Events()
		if traced && (err != nil || len(events) != 0) || !traced && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("traced %v: %v, %v", traced, events, err)
		}
		if _, err := folder.Ordinary(); traced == errors.Is(err, fs.ErrNotExist) {
			t.Errorf("traced %v: %v", traced, err)
		}
	}
}

func TestEventsThatAreDamaged(t *testing.T) {
	r, w := tracedTrial(t)
	trial := mustAdd(t, w, r)
	opened := mustOpen(t, w.Dir())
	path := filepath.Join(w.Dir(), "trials", trial.ID, EventsFile)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"cut": raw[:len(raw)/2], "empty": nil, "of another schema": []byte(strings.Replace(string(raw), EventsSchema, "nines/events/v9", 1)),
	} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := opened.TrialFolder(trial.ID).Events(); err == nil || !strings.Contains(err.Error(), EventsFile) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
