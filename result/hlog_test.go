package result

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/test/labtest"
)

// TestPublicReaderOpensTheLog reads our log with hdr-histogram-js.
func TestPublicReaderOpensTheLog(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		labtest.Require(t, "node, to run a public HdrHistogram reader (apt-get install nodejs)", false)
	}
	modules, err := filepath.Abs("../web/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(modules, "hdr-histogram-js")); err != nil {
		labtest.Require(t, "hdr-histogram-js (npm ci in web/)", false)
	}
	r := record(1, 5000)
	r.complete("0001")
	path := filepath.Join(t.TempDir(), "latency.hlog")
	var log bytes.Buffer
	if err := writeHlog(&log, r.Histograms, nil, span{start: testStart, duration: 1500 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, log.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(node, "testdata/read_hlog.mjs", modules, path)
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		StartSec float64
		Series   map[string]struct {
			Count          uint64
			Min, Max       float64
			P50, P99       float64
			StartMs, EndMs float64
		}
	}
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	if want := float64(testStart.UnixMilli()) / 1000; math.Abs(got.StartSec-want) > 0.0005 {
		t.Errorf("the log starts at %f s, want %f", got.StartSec, want)
	}
	for tag, want := range map[string]Percentiles{"NO TAG": r.Trial.Latency, "from_tx": r.Trial.FromTx, "send_lag": r.Trial.SendLag} {
		series, ok := got.Series[tag]
		if !ok {
			t.Errorf("the reader found no series %s in %s", tag, out)
			continue
		}
		near := func(what string, got float64, want int64) {
			// Both sides round to three digits.
			if math.Abs(got-float64(want)) > float64(want)/500+1 {
				t.Errorf("%s: the reader's %s is %g ns, ours %d ns", tag, what, got, want)
			}
		}
		if series.Count != want.Count {
			t.Errorf("%s: the reader counts %d, we %d", tag, series.Count, want.Count)
		}
		near("max", series.Max, *want.Max)
		near("p50", series.P50, *want.P50)
		near("p99", series.P99, *want.P99)
		if series.EndMs-series.StartMs != 1500 {
			t.Errorf("%s: the interval lasts %g ms, want 1500", tag, series.EndMs-series.StartMs)
		}
	}
}

func TestDamagedLogIsRefused(t *testing.T) {
	r := record(1, 5000)
	var log bytes.Buffer
	if err := writeHlog(&log, r.Histograms, nil, span{start: testStart, duration: time.Second}); err != nil {
		t.Fatal(err)
	}
	damaged := strings.Replace(log.String(), "HISTFAAA", "HISTFAAB", 1)
	if _, err := readHlog([]byte(damaged)); err == nil {
		t.Error("a damaged histogram was read without an error")
	}
}

// TestLatencyIsTheSeriesWithoutATag: readers show it when no tag is chosen. Logs of earlier
// versions, in which it has a tag, are read the same way.
func TestLatencyIsTheSeriesWithoutATag(t *testing.T) {
	r := record(1, 5000)
	var log bytes.Buffer
	if err := writeHlog(&log, r.Histograms, nil, span{start: testStart, duration: time.Second}); err != nil {
		t.Fatal(err)
	}
	var tags []string
	for line := range strings.Lines(log.String()) {
		if tag, _, tagged := strings.Cut(line, ","); tagged && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, `"`) {
			tags = append(tags, tag)
		}
	}
	if want := []string{"0.000000", "Tag=from_tx", "Tag=send_lag"}; !slices.Equal(tags, want) {
		t.Errorf("the intervals begin with %q, want %q", tags, want)
	}
	old := strings.Replace(log.String(), "\n0.000000,", "\nTag=latency,0.000000,", 1)
	for name, text := range map[string]string{"new": log.String(), "old": old} {
		got, err := readHlog([]byte(text))
		if err != nil || got.Latency == nil || got.FromTx == nil || got.SendLag == nil {
			t.Fatalf("%s: %+v, %v", name, got, err)
		}
		if got.Latency.Count() != r.Histograms.Latency.Count() {
			t.Errorf("%s: %d values of latency, want %d", name, got.Latency.Count(), r.Histograms.Latency.Count())
		}
	}
}

// readHlog is what Histograms makes of a log.
func readHlog(raw []byte) (Histograms, error) {
	intervals, err := readLog(raw)
	if err != nil {
		return Histograms{}, err
	}
	return sumLog(intervals)
}

// blocksOf spreads the latencies of a record over time blocks of 15 ms.
func blocksOf(r Record, blocks int) *Blocks {
	b := &Blocks{Length: 15 * time.Millisecond}
	for range blocks {
		b.Counts = append(b.Counts, newPacked())
	}
	var seen uint64
	for bucket := range r.Histograms.Latency.Packed().Buckets() {
		for range bucket.Count {
			if err := b.Counts[int(seen)%blocks].counts.RecordValue(bucket.LowNs); err != nil {
				panic(err)
			}
			seen++
		}
	}
	return b
}

// The latency of a trial has a line for each time block, one after the other; the reader adds them up, and gives them
// back one by one. A result without them has none.
func TestTimeBlocksAreLinesOfTheLog(t *testing.T) {
	w := mustCreate(t, t.TempDir())
	with, without := record(1, 5000), record(2, 5000)
	with.Blocks = blocksOf(with, 100)
	with.Details.StartedUnixNs, with.Details.DurationNs = testStart.UnixNano(), int64(1500*time.Millisecond)
	first, second := mustAdd(t, w, with), mustAdd(t, w, without)
	r := mustOpen(t, w.Dir())
	folder := r.TrialFolder(first.ID)
	histograms, err := folder.Histograms()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(with.Histograms.Latency.Percentiles(), histograms.Latency.Percentiles()); diff != "" {
		t.Errorf("the blocks do not add up to the trial: %s", diff)
	}
	intervals, err := folder.Intervals()
	if err != nil || len(intervals) != 102 {
		t.Fatalf("%d intervals, %v", len(intervals), err)
	}
	for i, one := range intervals[:100] {
		start := testStart.Add(time.Duration(i) * 15 * time.Millisecond)
		if one.Tag != TagLatency || one.Start.Sub(start).Abs() > time.Millisecond || (one.Length-15*time.Millisecond).Abs() > time.Millisecond {
			t.Errorf("block %d is %s at %v for %v", i, one.Tag, one.Start, one.Length)
		}
	}
	blocks, err := folder.Blocks()
	if err != nil || len(blocks) != 100 {
		t.Fatalf("%d blocks, %v", len(blocks), err)
	}
	for i, block := range blocks {
		if !slices.Equal(slices.Collect(block.Buckets()), slices.Collect(with.Blocks.Counts[i].Buckets())) {
			t.Errorf("block %d has changed", i)
		}
	}
	if blocks, err := r.TrialFolder(second.ID).Blocks(); blocks != nil || err != nil {
		t.Errorf("of a trial without blocks: %d, %v", len(blocks), err)
	}
}

func TestBlocksThatLackPacketsAreRefused(t *testing.T) {
	w := mustCreate(t, t.TempDir())
	r := record(1, 5000)
	r.Blocks = blocksOf(r, 100)
	r.Blocks.Counts = r.Blocks.Counts[:99]
	if _, err := w.AddTrial(r); err == nil || !strings.Contains(err.Error(), "by time") {
		t.Errorf("%v", err)
	}
}

// The latency without interruptions is a series of its own, which not every trial has.
func TestUndisturbedIsASeries(t *testing.T) {
	for _, has := range []bool{true, false} {
		w, err := Create(t.TempDir(), "x", testStart)
		if err != nil {
			t.Fatal(err)
		}
		r := record(1, 100)
		if has {
			r.Histograms.Undisturbed = histogramOf(1000, 2000, 2000)
		}
		trial, err := w.AddTrial(r)
		if err != nil {
			t.Fatal(err)
		}
		h, err := mustOpen(t, w.Dir()).TrialFolder(trial.ID).Histograms()
		if err != nil || (h.Undisturbed != nil) != has || has && h.Undisturbed.Count() != 3 || h.Latency.Count() != 100 {
			t.Errorf("has %v: %+v, %v", has, h.Undisturbed, err)
		}
	}
}
