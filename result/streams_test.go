package result

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// streamed is a record of two streams, which share its packets.
func streamed() Record {
	r := record(1, 100)
	for _, s := range []struct {
		name  string
		part  uint64
		first bool
	}{{"up", 60, true}, {"down-2", 40, false}} {
		h := NewHistogram()
		for range s.part {
			h.Record(int64(1000 + s.part))
		}
		one := StreamRecord{Stream: Stream{Name: s.name, TxPackets: s.part, RxPackets: s.part}, Latency: h}
		if s.first {
			one.Stream.TxPackets, one.Stream.LostPackets = s.part+2, 2
		}
		r.Streams = append(r.Streams, one)
	}
	return r
}

func TestStreamsAreInFoldersOfTheirOwn(t *testing.T) {
	w, err := Create(t.TempDir(), "streams", testStart)
	if err != nil {
		t.Fatal(err)
	}
	trial, err := w.AddTrial(streamed())
	if err != nil {
		t.Fatal(err)
	}
	r := mustOpen(t, w.Dir())
	if len(r.Problems) > 0 {
		t.Errorf("problems: %v", r.Problems)
	}
	if diff := cmp.Diff(trial, r.Summary.Trials[0]); diff != "" || len(trial.Streams) != 2 {
		t.Error(diff, trial.Streams)
	}
	for _, want := range streamed().Streams {
		got, err := r.TrialFolder("0001").StreamLatency(want.Stream.Name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Latency.Percentiles(), got.Percentiles()); diff != "" {
			t.Errorf("%s: %s", want.Stream.Name, diff)
		}
	}
	if _, err := r.TrialFolder("0001").StreamLatency("../0001"); err == nil {
		t.Error("a name outside of the streams is read")
	}
	path := filepath.Join(w.Dir(), "trials/0001/streams/up/latency.hlog")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if r = mustOpen(t, w.Dir()); len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "streams/up/latency.hlog is missing") {
		t.Errorf("problems: %q", r.Problems)
	}
}

func TestStreamsThatAreNotTheTrialAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(r *Record)
		want   string
	}{
		"a folder elsewhere": {func(r *Record) { r.Streams[0].Stream.Name = "../up" }, "needs a name"},
		"no name":            {func(r *Record) { r.Streams[0].Stream.Name = "" }, "needs a name"},
		"the same name":      {func(r *Record) { r.Streams[0].Stream.Name = "down-2" }, "needs a name of its own"},
		"a packet is gone":   {func(r *Record) { r.Streams[1].Stream.TxPackets++ }, "do not add up"},
		"a stream is gone":   {func(r *Record) { r.Streams = r.Streams[:1] }, "but by its streams 62 and 60"},
		"no latency":         {func(r *Record) { r.Streams[0].Latency = nil }, "the latency is missing"},
		"another latency":    {func(r *Record) { r.Streams[0].Latency.Record(1) }, "the latency of 61 was recorded"},
	} {
		r := streamed()
		c.change(&r)
		if err := r.check(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}
