package result

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

func histogramOf(values ...int64) *Histogram {
	h := NewHistogram()
	for _, v := range values {
		h.Record(v)
	}
	return h
}

func packedOf(values ...int64) *Packed { return histogramOf(values...).Packed() }

// Intervals of one tag stay separate, and Histograms adds them up.
func TestIntervalsAreGivenBack(t *testing.T) {
	w := mustCreate(t, t.TempDir())
	trial := mustAdd(t, w, record(1, 100))
	start := time.Date(2026, 11, 20, 18, 30, 5, 250_000_000, time.UTC)
	written := []Interval{
		{Tag: TagLatency, Start: start, Length: time.Minute, Histogram: packedOf(1000, 2000)},
		{Tag: TagLatency, Start: start.Add(time.Minute), Length: 1500 * time.Millisecond, Histogram: packedOf(3000)},
		{Tag: TagFromTx, Start: start, Length: time.Minute, Histogram: packedOf(1)},
		{Tag: TagSendLag, Start: start, Length: time.Minute, Histogram: packedOf()},
	}
	var log bytes.Buffer
	if err := WriteLog(&log, []string{"nines: a line\nand another\r[StartTime: 1"}, written); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(w.Dir(), trialsDir, trial.ID, HlogFile)
	if err := os.WriteFile(path, log.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	r := mustOpen(t, w.Dir())
	read, err := r.TrialFolder(trial.ID).Intervals()
	if err != nil || len(read) != len(written) {
		t.Fatalf("%d intervals, %v", len(read), err)
	}
	for i, want := range written {
		got := read[i]
		if got.Tag != want.Tag || got.Start.Sub(want.Start).Abs() > time.Millisecond || (got.Length-want.Length).Abs() > time.Millisecond || got.Histogram.Count() != want.Histogram.Count() {
			t.Errorf("interval %d: %s at %v for %v with %d, want %s at %v for %v with %d", i,
				got.Tag, got.Start, got.Length, got.Histogram.Count(), want.Tag, want.Start, want.Length, want.Histogram.Count())
		}
	}
	histograms, err := r.TrialFolder(trial.ID).Histograms()
	if err != nil || histograms.Latency.Count() != 3 {
		t.Errorf("added up: %v, %v", histograms.Latency, err)
	}
}

// Characters that a tag cannot contain are replaced, so that every reader finds the columns.
func TestLogKeepsStrangeTags(t *testing.T) {
	var log bytes.Buffer
	if err := WriteLog(&log, nil, []Interval{{Tag: "a,b c\nd\te", Start: time.Unix(1, 0), Histogram: packedOf(5)}}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), "\nTag=a_b_c_d_e,0.000000,0.000000,") {
		t.Errorf("the log is\n%s", log.String())
	}
	if err := WriteLog(&log, nil, nil); err != nil {
		t.Errorf("of nothing: %v", err)
	}
}

func TestEncodeIsDecoded(t *testing.T) {
	encoded, err := histogramOf(1000, 2000, 2000).Encode()
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := hdrhistogram.Decode([]byte(encoded))
	if err != nil || decoded.TotalCount() != 3 || decoded.ValueAtPercentile(50) != 2000 {
		t.Errorf("%v, %v", decoded, err)
	}
	read, err := DecodeHistogram(encoded)
	if err != nil {
		t.Fatal(err)
	}
	sum := histogramOf(3000)
	sum.Merge(read)
	if sum.Count() != 4 || sum.Ranked(1) != 1000 || sum.Ranked(3) != 2000 || sum.Ranked(4) != 3000 {
		t.Errorf("%d samples, %d, %d, %d ns", sum.Count(), sum.Ranked(1), sum.Ranked(3), sum.Ranked(4))
	}
}

func TestAHistogramOfAnotherRangeIsNotRead(t *testing.T) {
	encoded, err := hdrhistogram.New(1, 1000, 2).Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := DecodeHistogram(string(encoded)); err == nil || !strings.Contains(err.Error(), "1 to 1000 ns with 2 digits") {
		t.Errorf("%v", err)
	}
	if _, err := DecodeHistogram("no histogram"); err == nil {
		t.Error("nonsense is read")
	}
}

// Path returns only plain files of the trial.
func TestPath(t *testing.T) {
	w := mustCreate(t, t.TempDir())
	trial := mustAdd(t, w, record(1, 100))
	r := mustOpen(t, w.Dir())
	folder := r.TrialFolder(trial.ID)
	if below, path, err := folder.Path(HlogFile); err != nil || below != "trials/0001/latency.hlog" || path != filepath.Join(w.Dir(), below) {
		t.Errorf("%q, %q, %v", below, path, err)
	}
	if _, _, err := folder.Path("none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no such file: %v", err)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(w.Dir(), "trials", "0001", "link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link", "../../summary.json", "..", ""} {
		if _, _, err := folder.Path(name); err == nil {
			t.Errorf("%q has a path", name)
		}
	}
	if _, _, err := r.TrialFolder("../..").Path(HlogFile); err == nil {
		t.Error("a trial that climbs has a path")
	}
}
