package analyze

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/analyze/synthetic"
	"nines.dev/nines/result"
)

func writePair(t *testing.T, c synthetic.Config, layout packetfile.Layout, ending string) (pre, post string, truth synthetic.Truth) {
	t.Helper()
	dir := t.TempDir()
	pre, post = filepath.Join(dir, "pre"+ending), filepath.Join(dir, "post"+ending)
	truth, err := synthetic.WritePair(c, pre, layout, post, layout)
	if err != nil {
		t.Fatal(err)
	}
	return pre, post, truth
}

// network has every kind of fault.
func network(seed, packets uint64) synthetic.Config {
	return synthetic.Config{
		Seed: seed, Packets: packets, GapNs: 7000, Poisson: true, LatencyNs: 4200, JitterNs: 2000, TailRatio: 1e-3, TailNs: 300_000,
		ReorderRatio: 0.01, ReorderNs: 40_000, LossRatio: 0.005, LossRun: 3, DuplicatePre: 0.002, DuplicatePost: 0.003,
		PauseEvery: 5000, PauseNs: 900_000_000, Flows: 5,
	}
}

var thirdColumn = regexp.MustCompile(`,[^,\n]*\n`)

// Our files equal those of the published evaluation, byte for byte.
func TestFilesAreThoseOfTheReference(t *testing.T) {
	for name, c := range map[string]synthetic.Config{
		"UDP":       network(1, 20000),
		"all kinds": func() synthetic.Config { c := network(2, 20000); c.Kinds = synthetic.AllKinds(); return c }(),
		"checksums": func() synthetic.Config { c := network(3, 5000); c.ChecksumsDiffer = true; return c }(),
		"large": func() synthetic.Config {
			c := network(4, 3000)
			c.FrameBytes, c.Payload = 1500, synthetic.MoonSniff
			return c
		}(),
		"one packet": {Packets: 1, LatencyNs: 77},
		"10 ms":      {Packets: 500, GapNs: 10_000_000, LatencyNs: 4200, JitterNs: 100_000},
		"drift":      {Packets: 3000, GapNs: 1_000_000, LatencyNs: 90_000, JitterNs: 1000, DriftPPM: 20, OffsetNs: 3_000_000_000},
		"set clock":  {Packets: 3000, GapNs: 1_000_000, LatencyNs: 90_000, PostStepAfter: 1000, PostStepNs: -1_500_000_000, OffsetNs: 2_000_000_000},
	} {
		for _, trim := range []int64{0, 500} {
			for _, layout := range []packetfile.Layout{{Format: packetfile.Pcap}, {Format: packetfile.Pcapng, BigEndian: true}} {
				t.Run(fmt.Sprintf("%s/trim %d/%s", name, trim, layout.Format), func(t *testing.T) {
					pre, post, _ := writePair(t, c, layout, ".pcap.zst")
					want := reference(t, pre, post, trim)
					a, err := Analyze(context.Background(), Options{Pre: pre, Post: post, Trim: time.Duration(trim) * time.Millisecond})
					if want[fmt.Sprintf("trim_ms%d.latency-ts", trim)] == "latency,prets,postts\n" {
						if err == nil || !strings.Contains(err.Error(), "leaves none") {
							t.Fatalf("without a pair: %v", err)
						}
						return
					}
					if err != nil {
						t.Fatal(err)
					}
					defer a.Close()
					out := t.TempDir()
					files, err := a.WritePublished(context.Background(), out, nil)
					if err != nil {
						t.Fatal(err)
					}
					if len(files) != 10 {
						t.Errorf("%d files: %v", len(files), files)
					}
					for suffix, want := range want {
						raw, err := os.ReadFile(filepath.Join(out, "pre.pcap.zst."+suffix+".csv"))
						if err != nil {
							t.Error(err)
							continue
						}
						got := string(raw)
						if strings.HasSuffix(suffix, "percentiles") { // third column: tested elsewhere
							got, want = thirdColumn.ReplaceAllString(got, "\n"), thirdColumn.ReplaceAllString(want, "\n")
						}
						if got != want {
							t.Errorf("%s differs: %s", suffix, firstDifference(got, want))
						}
					}
				})
			}
		}
	}
}

// TestEachLatencyIsOfOnePopulation: with packets that arrive again, the summary's latency is that of
// the first arrivals in all of its figures, as in the result folder, and beside it is that of all.
func TestEachLatencyIsOfOnePopulation(t *testing.T) {
	config := network(7, 20000)
	config.DuplicatePost = 0.05
	for _, trim := range []time.Duration{0, 500 * time.Millisecond} {
		pre, post, _ := writePair(t, config, packetfile.Layout{Format: packetfile.Pcap}, ".pcap")
		a, err := Analyze(context.Background(), Options{Pre: pre, Post: post, Trim: trim})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		record, err := a.record(context.Background(), &a.Direction)
		if err != nil {
			t.Fatal(err)
		}
		s := a.Summary()
		if diff := cmp.Diff(record.Metrics.All.Latency, s.Latency, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
			t.Errorf("trim %v: the result folder has another latency (-folder +summary):\n%s", trim, diff)
		}
		var all []int64
		sum := 0.0
		if err := a.pairs().each(context.Background(), func(block []pair) error {
			for _, p := range block {
				all, sum = append(all, p.postNs-p.preNs), sum+float64(p.postNs-p.preNs)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		slices.Sort(all)
		n := uint64(len(all))
		want := result.MakePercentiles(n, all[0], all[n-1], sum/float64(n), func(p result.Percentile) int64 { return all[result.Rank(p.P, n)-1] })
		if s.AllArrivals == nil || s.AllArrivals.Count <= s.Latency.Count || *s.AllArrivals.P99 == *s.Latency.P99 {
			t.Fatalf("trim %v: all arrivals %+v, first arrivals %+v", trim, s.AllArrivals, s.Latency)
		}
		if diff := cmp.Diff(want, *s.AllArrivals, cmpopts.EquateApprox(1e-12, 0)); diff != "" {
			t.Errorf("trim %v: all arrivals (-want +got):\n%s", trim, diff)
		}
	}
	config.DuplicatePost = 0
	pre, post, _ := writePair(t, config, packetfile.Layout{Format: packetfile.Pcap}, ".pcap")
	a, err := Analyze(context.Background(), Options{Pre: pre, Post: post})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if s := a.Summary(); s.AllArrivals != nil || s.Latency.Count != s.Counts.Pairs {
		t.Errorf("nothing arrived more than once: %+v, %+v", s.AllArrivals, s.Latency)
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d is %q, want %q", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}
