package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/analyze/synthetic"
	"nines.dev/nines/host"
)

const (
	// A pair for the rates, one of a tenth of that for the linear growth, and one for
	// PostgreSQL, which takes long.
	analyzePairs  = 10_000_000
	fewPairs      = 1_000_000
	postgresPairs = 3_000_000
	// manyPairs need 16 GB for the pair and 5 for the result: NINES_BENCH_PAIRS=1e8.
	manyPairs = 100_000_000

	analyzeRounds = 3
)

// benchAnalyze measures the evaluation of pairs of captures: on one core, with and
// without all files, its growth, and PostgreSQL on the same pair.
func benchAnalyze(ctx context.Context, _ *host.Inventory) ([]Row, error) {
	dir, err := os.MkdirTemp("", "nines-bench")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var rows []Row
	few, err := writeAnalyzePair(dir, fewPairs, ".pcap")
	if err != nil {
		return nil, err
	}
	fewRun, err := few.median(ctx, analyzeHow{oneCore: true, files: true})
	if err != nil {
		return nil, err
	}
	few.remove()
	pair, err := writeAnalyzePair(dir, analyzePairs, ".pcap")
	if err != nil {
		return nil, err
	}
	run, err := pair.median(ctx, analyzeHow{oneCore: true, files: true})
	if err != nil {
		return nil, err
	}
	shown, err := pair.median(ctx, analyzeHow{oneCore: true})
	if err != nil {
		return nil, err
	}
	rate := func(name string, pairs float64, run analyzeRun, goal float64) {
		text, met := atLeast(1)
		rows = append(rows, compare(name, "packets/s", 2*pairs/run.seconds, "goal", goal, text, met))
	}
	growth := func(name string, more, fewer analyzeRun, times float64) {
		text, met := atMost(1.2)
		rows = append(rows, compare(name, "s", more.seconds, "as many times the fewer", times*fewer.seconds, text, met))
	}
	rate("analyze: pcap, one core", analyzePairs, shown, 5e6)
	rate("analyze: pcap, one core, with all files", analyzePairs, run, 5e6)
	growth("analyze: 10^7 pairs after 10^6", run, fewRun, analyzePairs/fewPairs)
	if os.Getenv("NINES_BENCH_PAIRS") == "1e8" {
		pair.remove()
		many, err := writeAnalyzePair(dir, manyPairs, ".pcap")
		if err != nil {
			return rows, err
		}
		manyRun, err := many.run(ctx, analyzeHow{oneCore: true, files: true})
		if err != nil {
			return rows, err
		}
		many.remove()
		growth("analyze: 10^8 pairs after 10^7", manyRun, run, manyPairs/analyzePairs)
		text, met := atMost(1)
		rows = append(rows, compare("analyze: memory of 10^8 pairs", "GiB", manyRun.gib, "goal", 6, text, met))
	}
	pair.remove()
	zstd, err := writeAnalyzePair(dir, analyzePairs/2, ".pcap.zst")
	if err != nil {
		return rows, err
	}
	zstdRun, err := zstd.median(ctx, analyzeHow{oneCore: true})
	if err != nil {
		return rows, err
	}
	zstd.remove()
	rate("analyze: zstd, one core", analyzePairs/2, zstdRun, 2e6)
	beside, err := writeAnalyzePair(dir, postgresPairs, ".pcap")
	if err != nil {
		return rows, err
	}
	row, err := beside.besidePostgres(ctx)
	if err != nil {
		return rows, err
	}
	return append(rows, row), nil
}

// analyzePair is a pair of captures on disk.
type analyzePair struct{ dir, pre, post string }

func writeAnalyzePair(dir string, packets uint64, ending string) (analyzePair, error) {
	p := analyzePair{dir: dir, pre: filepath.Join(dir, fmt.Sprintf("pre%d%s", packets, ending)), post: filepath.Join(dir, fmt.Sprintf("post%d%s", packets, ending))}
	layout := packetfile.Layout{Format: packetfile.Pcap}
	// Like the published captures of 64-byte frames: 1.5 million per second, 4 µs, ten flows.
	_, err := synthetic.WritePair(synthetic.Config{
		Seed: 7, Packets: packets, GapNs: 660, Poisson: true, LatencyNs: 4200, JitterNs: 900, TailRatio: 1e-4, TailNs: 130_000,
		LossRatio: 1e-5, DuplicatePost: 1e-6, Flows: 10,
	}, p.pre, layout, p.post, layout)
	return p, err
}

func (p analyzePair) remove() {
	_, _ = os.Remove(p.pre), os.Remove(p.post) // the rest is removed with the folder
}

type analyzeRun struct{ seconds, gib float64 }

// analyzeHow is how nines analyze is called: on one core or all, and with or without files.
type analyzeHow struct{ oneCore, files bool }

// run is one call of nines analyze.
func (p analyzePair) run(ctx context.Context, how analyzeHow) (analyzeRun, error) {
	out := filepath.Join(p.dir, "out")
	defer func() { _ = os.RemoveAll(out) }()
	words := []string{ninesProgram(), "analyze", p.pre, p.post}
	if how.files {
		words = append(words, "--out", out)
	}
	if how.oneCore {
		words = append([]string{"taskset", "-c", strconv.Itoa(runtime.NumCPU() - 1)}, words...)
	}
	c := exec.CommandContext(ctx, words[0], words[1:]...)
	if how.oneCore {
		c.Env = append(os.Environ(), "GOMAXPROCS=1")
	}
	var said strings.Builder
	c.Stderr = &said
	started := time.Now()
	if err := c.Run(); err != nil {
		return analyzeRun{}, fmt.Errorf("%v: %w: %s", words, err, said.String())
	}
	r := analyzeRun{seconds: time.Since(started).Seconds()}
	if usage, ok := c.ProcessState.SysUsage().(*syscall.Rusage); ok {
		r.gib = float64(usage.Maxrss) / (1 << 20) // getrusage(2): KiB
	}
	return r, nil
}

func ninesProgram() string {
	if dir := os.Getenv("NINES_LIBEXEC"); dir != "" {
		return filepath.Join(dir, "nines")
	}
	return "nines"
}

// median returns the run with the median time.
func (p analyzePair) median(ctx context.Context, how analyzeHow) (analyzeRun, error) {
	var runs []analyzeRun
	for range analyzeRounds {
		r, err := p.run(ctx, how)
		if err != nil {
			return r, err
		}
		runs = append(runs, r)
	}
	return medianRun(runs), nil
}

func medianRun(runs []analyzeRun) analyzeRun {
	for _, r := range runs {
		below, above := 0, 0
		for _, other := range runs {
			if other.seconds < r.seconds {
				below++
			}
			if other.seconds > r.seconds {
				above++
			}
		}
		if below <= len(runs)/2 && above <= len(runs)/2 {
			return r
		}
	}
	return runs[0]
}

// besidePostgres compares with the published method on the same pair, with all cores for both.
func (p analyzePair) besidePostgres(ctx context.Context) (Row, error) {
	text, met := atLeast(50)
	database, err := startDatabase(ctx)
	if err != nil {
		return Row{}, err
	}
	theirs, err := database.evaluate(ctx, p)
	if err = errors.Join(err, database.Stop()); err != nil {
		return Row{}, err
	}
	ours, err := p.median(ctx, analyzeHow{files: true})
	if err != nil {
		return Row{}, err
	}
	return compare("analyze: beside the published way", "pairs/s", postgresPairs/ours.seconds, "PostgreSQL", postgresPairs/theirs, text, met), nil
}
