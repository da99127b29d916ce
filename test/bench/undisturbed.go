package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"time"

	"nines.dev/nines/host"
	"nines.dev/nines/result"
)

// What the undisturbed p99 is worth: that of trials which nines-disturb disturbs against that of trials next to them which
// it leaves alone, on a host as it is. NINES_LONG measures all cells three times, a million packets a trial.
const (
	closeEnough      = 0.1 // of the undisturbed p99 beside it
	leastCloseEnough = 0.9 // of the pairs in which both are known
	mostRefused      = 0.5
	undisturbedPPS   = 100_000
)

// disturbanceCell is how one half of the pairs is disturbed: what share of the time, by disturbances of that length.
type disturbanceCell struct {
	kind, pattern string
	length        time.Duration
	share         float64
}

// disturbanceCells has every kind with every pattern, from a tenth of a percent to a tenth of the time; the first are those of
// the ordinary form.
var disturbanceCells = []disturbanceCell{
	{"stop", "poisson", time.Millisecond, 0.01},
	{"spin", "bursts", 100 * time.Microsecond, 0.01},
	{"softirq", "constant", 300 * time.Microsecond, 0.1},
	{"softirq", "poisson", 100 * time.Microsecond, 0.001},
	{"spin", "poisson", time.Millisecond, 0.1},
	{"stop", "constant", 300 * time.Microsecond, 0.001},
	{"stop", "bursts", time.Millisecond, 0.1},
	{"spin", "constant", 300 * time.Microsecond, 0.01},
	{"spin", "poisson", 100 * time.Microsecond, 0.001},
	{"spin", "bursts", time.Millisecond, 0.001},
	{"softirq", "bursts", time.Millisecond, 0.01},
	{"softirq", "poisson", 300 * time.Microsecond, 0.01},
	{"softirq", "bursts", 100 * time.Microsecond, 0.1},
	{"stop", "poisson", 300 * time.Microsecond, 0.1},
}

func (c disturbanceCell) String() string {
	return fmt.Sprintf("%s %s, %v for %.1f %% of the time", c.kind, c.pattern, c.length, 100*c.share)
}

// key is the disturbance in an experiment file. A program that competes is before the forwarder.
func (c disturbanceCell) key() string {
	scheduling := ""
	if c.kind == "spin" {
		scheduling = ", scheduling: {policy: fifo, priority: 50}"
	}
	period := time.Duration(float64(c.length) / c.share)
	return fmt.Sprintf("{disturb: {other: {kind: %s, node: dut, pattern: %s, length: %v, period: %v%s}}}", c.kind, c.pattern, c.length, period, scheduling)
}

// benchUndisturbed compares undisturbed percentiles with those of a host that is disturbed less.
func benchUndisturbed(ctx context.Context, inventory *host.Inventory) ([]Row, error) {
	cells, repeats, lasts := disturbanceCells[:5], 1, 3*time.Second
	if os.Getenv("NINES_LONG") != "" {
		cells, repeats, lasts = disturbanceCells, 3, 10*time.Second
	}
	pairs, known, near := 0, 0, 0
	for _, c := range cells {
		done, err := runExperiment(ctx, inventory, decidedLab(false)+fmt.Sprintf(`%d, warmup: 100ms, duration: %v, drain: 200ms}
sweep: {competition: {"off": {}, "on": %s}}
repeat: %d
`, undisturbedPPS, lasts, c.key(), repeats))
		if err != nil {
			return nil, err
		}
		for i := range repeats {
			quiet, whyQuiet := undisturbedP99(done.Summary.Trials, "off", i+1)
			disturbed, why := undisturbedP99(done.Summary.Trials, "on", i+1)
			pairs++
			if quiet == 0 || disturbed == 0 {
				fmt.Fprintf(os.Stderr, "  %v: not known: quiet %q, disturbed %q\n", c, whyQuiet, why)
				continue
			}
			known++
			near += count(math.Abs(disturbed/quiet-1) <= closeEnough)
			fmt.Fprintf(os.Stderr, "  %v: %.2f µs, quiet %.2f\n", c, disturbed/1000, quiet/1000)
		}
	}
	goalNear, metNear := atLeast(leastCloseEnough)
	goalRefused, metRefused := atMost(mostRefused)
	return []Row{
		compare("undisturbed p99 of disturbed trials: within 10 % of that of quiet ones beside", "of all", float64(near), "pairs in which both are known", float64(known), goalNear, metNear),
		compare("undisturbed p99 not known of one of them", "of all", float64(pairs-known), "all pairs", float64(pairs), goalRefused, metRefused),
	}, nil
}

// undisturbedP99 is that of a trial, 0 and why if it is not known.
func undisturbedP99(trials []result.Trial, competition string, repeat int) (ns float64, why string) {
	for _, t := range trials {
		if t.Variables["competition"] != competition || t.Repeat != repeat {
			continue
		}
		if t.Undisturbed == nil {
			return 0, "nobody kept when packets were received"
		}
		for _, p := range t.Undisturbed.Percentiles {
			if p.Name == "p99" && p.ValueNs != nil {
				return float64(*p.ValueNs), ""
			} else if p.Name == "p99" {
				why = p.Open
			}
		}
		return 0, t.Undisturbed.Refused + why
	}
	return 0, "no such trial"
}
