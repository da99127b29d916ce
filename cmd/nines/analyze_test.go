package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"nines.dev/nines/analyze"
	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/analyze/synthetic"
	"nines.dev/nines/result"
)

func capturePair(t *testing.T, c synthetic.Config) (pre, post string) {
	t.Helper()
	dir := t.TempDir()
	pre, post = filepath.Join(dir, "pre.pcap"), filepath.Join(dir, "post.pcap")
	layout := packetfile.Layout{Format: packetfile.Pcap}
	if _, err := synthetic.WritePair(c, pre, layout, post, layout); err != nil {
		t.Fatal(err)
	}
	return pre, post
}

func TestAnalyzeLeavesAResultThatOtherVerbsShow(t *testing.T) {
	pre, post := capturePair(t, synthetic.Config{Packets: 5000, LatencyNs: 9000, JitterNs: 700, LossRatio: 0.01, DuplicatePost: 0.01, Flows: 3})
	out := t.TempDir()
	var stdout, stderr strings.Builder
	if code := execute([]string{"analyze", pre, post, "--out", out, "--format", "json", "--without", "latency-ts"}, &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	var summary analyze.Summary
	if err := json.Unmarshal([]byte(stdout.String()), &summary); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(out, "pre.pcap.*.csv"))
	if err != nil || len(files) != 9 || len(summary.Files) != 9 {
		t.Errorf("%v, %v; said %v", files, err, summary.Files)
	}
	r, err := result.Open(filepath.Join(out, "latest"))
	if err != nil {
		t.Fatal(err)
	}
	trial := r.Summary.Trials[0]
	details, err := r.TrialFolder(trial.ID).Details()
	if err != nil {
		t.Fatal(err)
	}
	metrics, err := r.TrialFolder(trial.ID).Metrics()
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Problems) > 0 || trial.TxPackets != 5000 || trial.LostPackets != summary.Counts.Lost || *trial.Latency.Max != *summary.Latency.Max ||
		details.Role != "capture" || len(metrics.Flows) != 3 || metrics.All.Duplicates != summary.Counts.Again {
		t.Errorf("%+v\n%+v\n%+v\n%v", trial, details, metrics, r.Problems)
	}
	for _, args := range [][]string{{"report", filepath.Join(out, "latest")}, {"compare", filepath.Join(out, "latest"), filepath.Join(out, "latest")}} {
		var stdout, stderr strings.Builder
		if code := execute(args, &stdout, &stderr); code != 0 || stderr.Len() > 0 || !strings.Contains(stdout.String(), "p99") {
			t.Errorf("%v: exit code %d: %s%s", args, code, stdout.String(), stderr.String())
		}
	}
	// A second call overwrites files of the same names, and its result gets its own folder.
	if code := execute([]string{"analyze", pre, post, "--out", out}, &stdout, &stderr); code != 0 {
		t.Fatalf("again: exit code %d: %s", code, stderr.String())
	}
	folders, err := filepath.Glob(filepath.Join(out, "pre.pcap", "*"))
	if err != nil || len(folders) != 2 {
		t.Errorf("%v, %v", folders, err)
	}
}

// TestAnalyzeSaysOfWhichPackets: where packets arrive again, the terminal's first row is of the
// packets that the page shows, the second of those of the published files.
func TestAnalyzeWritesAPageWithoutAFolder(t *testing.T) {
	pre, post := capturePair(t, synthetic.Config{Packets: 5000, LatencyNs: 9000, JitterNs: 700, LossRatio: 0.01, Flows: 3})
	page := filepath.Join(t.TempDir(), "pair.html")
	t.Setenv("TMPDIR", t.TempDir())
	var stdout, stderr strings.Builder
	if code := execute([]string{"analyze", pre, post, "--page", page}, &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	raw, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"schema":"nines/pair/v1"`, `"post_frame":`, `"flow":"198.18.0.1:`} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("the page has no %s", want)
		}
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestAnalyzeSaysOfWhichPackets(t *testing.T) {
	pre, post := capturePair(t, synthetic.Config{Packets: 5000, LatencyNs: 9000, JitterNs: 500, DuplicatePost: 0.05})
	out := t.TempDir()
	var stdout, stderr strings.Builder
	if code := execute([]string{"analyze", pre, post, "--out", out}, &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
	r, err := result.Open(filepath.Join(out, "latest"))
	if err != nil {
		t.Fatal(err)
	}
	trial := r.Summary.Trials[0]
	if trial.DuplicatePackets == 0 {
		t.Fatal("nothing arrived more than once")
	}
	row := func(of string) []string {
		for line := range strings.Lines(stdout.String()) {
			if rest, found := strings.CutPrefix(line, of+" "); found {
				return strings.Fields(rest)
			}
		}
		t.Fatalf("no row of %s:\n%s", of, stdout.String())
		return nil
	}
	first := row(fmt.Sprintf("%d first arrivals", trial.RxPackets))
	for at, ns := range map[int]*int64{0: trial.Latency.Min, 4: trial.Latency.P99, 5: trial.Latency.P999, 9: trial.Latency.Max} {
		got, err := strconv.ParseInt(first[at], 10, 64)
		// The page's percentiles have three digits.
		if err != nil || math.Abs(float64(got-*ns)) > 1e-3*float64(*ns) {
			t.Errorf("column %d is %s, the page has %d", at, first[at], *ns)
		}
	}
	published, err := os.ReadFile(filepath.Join(out, "pre.pcap.trim_ms0.percentiles.csv"))
	if err != nil {
		t.Fatal(err)
	}
	all := row(fmt.Sprintf("%d arrivals", trial.RxPackets+trial.DuplicatePackets))
	if !strings.Contains(string(published), "\n0.99,"+all[4]+",") {
		t.Errorf("p99 of all arrivals is %s, which the published file has not", all[4])
	}
	if all[4] == first[4] {
		t.Errorf("both rows have the p99 %s: this tests nothing", all[4])
	}
}

func TestAnalyzeTellsWhatIsWrong(t *testing.T) {
	pre, post := capturePair(t, synthetic.Config{Packets: 500, LatencyNs: 9000})
	text := filepath.Join(t.TempDir(), "text.pcap")
	if err := os.WriteFile(text, []byte(strings.Repeat("not a capture ", 20)), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"one file":     {[]string{pre}, "takes two captures"},
		"swapped":      {[]string{post, pre}, "swapped"},
		"the same":     {[]string{pre, pre}, "same file"},
		"text":         {[]string{pre, text}, "text.pcap"},
		"directory":    {[]string{pre, filepath.Dir(pre)}, "directory"},
		"unknown key":  {[]string{pre, post, "--key", "colour"}, "allowed: content, published, moonsniff"},
		"unknown file": {[]string{pre, post, "--without", "colour"}, "latency-ts"},
		"format":       {[]string{pre, post, "--format", "xml"}, "xml"},
	} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr strings.Builder
			if code := execute(append([]string{"analyze"}, c.args...), &stdout, &stderr); code != 2 {
				t.Errorf("exit code %d", code)
			}
			if !strings.Contains(stderr.String(), c.want) || strings.Count(stderr.String(), "\n") != 1 || stdout.Len() > 0 {
				t.Errorf("%s%s", stdout.String(), stderr.String())
			}
		})
	}
}

func TestAnalyzeUsesWhatADamagedFileHas(t *testing.T) {
	pre, post := capturePair(t, synthetic.Config{Packets: 500, LatencyNs: 9000})
	raw, err := os.ReadFile(pre)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(pre, raw[:len(raw)-7], 0o644); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr strings.Builder
	if code := execute([]string{"analyze", pre, post}, &stdout, &stderr); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(stderr.String(), "is damaged") || !strings.Contains(stdout.String(), "noisy") || !strings.Contains(stdout.String(), "499") {
		t.Errorf("%s%s", stdout.String(), stderr.String())
	}
}
