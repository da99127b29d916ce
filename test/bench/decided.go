package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"nines.dev/nines/host"
	"nines.dev/nines/kernel/cputime"
	"nines.dev/nines/report"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// How often a duet is right, on a host as it is: the same on both sides must not differ, and a known difference must be
// found. NINES_LONG measures ten times as often.
const (
	equalDuets    = 20
	mostWrong     = 0.15 // of the equal ones; long 16 of 200
	mostWrongLong = 0.08
	unequalDuets  = 10
	leastFound    = 0.8 // of the unequal ones; long 92 of 100
	leastLong     = 0.92
	duetPPS       = 10_000
)

// difference is what one side is slower by.
type difference struct {
	name     string
	quantity string
	share    float64 // of the quantity
	latency  time.Duration
	within   time.Duration // of traffic
}

var differences = []difference{
	{name: "5 % slower", quantity: "p50", share: 0.05, within: 3 * time.Second},
	{name: "1 µs slower", quantity: "undisturbed p99", latency: time.Microsecond, within: 20 * time.Second},
}

// benchDecided counts decisions of duets that are wrong, and those that are right, beside trials that run in turn for as
// long.
func benchDecided(ctx context.Context, inventory *host.Inventory) ([]Row, error) {
	times, wrong, found := 1, mostWrong, leastFound
	if os.Getenv("NINES_LONG") != "" {
		times, wrong, found = 10, mostWrongLong, leastLong
	}
	equal, err := duets(ctx, inventory, equalDuets*times, 0, 3*time.Second, "p50", "undisturbed p99")
	if err != nil {
		return nil, err
	}
	var rows []Row
	for _, quantity := range []string{"p50", "undisturbed p99"} {
		bad := 0
		for _, c := range comparisonsOf(equal, quantity) {
			bad += count(c.Decision == result.ALower || c.Decision == result.BLower)
		}
		goal, met := atMost(wrong)
		rows = append(rows, compare("the same on both sides: decided otherwise at "+quantity, "of all", float64(bad), "all duets", float64(len(equal)), goal, met))
	}
	for _, d := range differences {
		more, err := d.find(ctx, inventory, unequalDuets*times, found)
		rows = append(rows, more...)
		if err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// find counts how often the difference is decided, by duets and by trials in turn.
func (d difference) find(ctx context.Context, inventory *host.Inventory, times int, found float64) ([]Row, error) {
	work := d.latency
	if d.share > 0 {
		first, err := duets(ctx, inventory, 1, 0, d.within, d.quantity)
		if err != nil {
			return nil, err
		}
		of := comparisonsOf(first, d.quantity)
		if len(of) == 0 || of[0].A == nil {
			return nil, fmt.Errorf("%s: no %s was measured", d.name, d.quantity)
		}
		work = time.Duration(d.share * *of[0].A)
	}
	measured, err := duets(ctx, inventory, times, work, d.within, d.quantity)
	if err != nil {
		return nil, err
	}
	right := 0
	for _, c := range comparisonsOf(measured, d.quantity) {
		right += count(c.Decision == result.ALower)
	}
	goal, met := atLeast(found)
	name := fmt.Sprintf("%s (%v a packet): decided at %s in %v", d.name, work, d.quantity, d.within)
	rows := []Row{compare(name, "of all", float64(right), "all duets", float64(times), goal, met)}
	if d.quantity != "p50" {
		return rows, nil // trials in turn have no interval of the undisturbed percentiles
	}
	inTurn := 0
	for range times {
		decided, err := d.inTurn(ctx, inventory, work)
		if err != nil {
			return rows, err
		}
		inTurn += count(decided)
	}
	goal, met = atMost(1)
	return append(rows, compare(d.name+", as often as duets by trials in turn", "of all", float64(inTurn), "all", float64(times), goal, met)), nil
}

// inTurn reports whether six trials a side, which take as long as the duet, decide that one is lower.
func (d difference) inTurn(ctx context.Context, inventory *host.Inventory, work time.Duration) (bool, error) {
	const repeats = 6
	done, err := decidedExperiment(ctx, inventory, 2*duetPPS, `, warmup: 100ms, duration: %dms, drain: 200ms}
sweep: {nodes.dut.app.work: [0ns, %dns]}
repeat: %d
`, d.within.Milliseconds()/(2*repeats), work.Nanoseconds(), repeats)
	if err != nil {
		return false, err
	}
	c, err := report.CompareValues(done, "nodes.dut.app.work", "0s", spec.Duration(work).String())
	if err != nil {
		return false, err
	}
	for _, pair := range c.Pairs {
		for _, figure := range pair.Figures {
			if figure.Figure.Name == "latency_p50_ns" {
				return figure.Verdict == report.Higher, nil
			}
		}
	}
	return false, nil
}

// decidedLab is a forwarder, up to the traffic's rate. Its engines poll, or sleep at a real-time priority.
func decidedLab(sleeps bool) string {
	wait, scheduling := "spin", "{policy: other}"
	if sleeps {
		wait, scheduling = "block", "{policy: fifo, priority: 1}"
	}
	return fmt.Sprintf(`name: bench-decided
topology:
  nodes: {gen: {scheduling: %[2]s}, dut: {app: {kind: forward, wait: %[1]s}, scheduling: %[2]s}}
  links:
    - {name: in, endpoints: ["gen:tx", "dut:in"]}
    - {name: out, endpoints: ["dut:out", "gen:rx"]}
traffic: {from: "gen:tx", to: "gen:rx", backend: raw, wait: %[1]s, rate_pps: `, wait, scheduling)
}

// isBusy reports whether programs that poll would have to wait for a CPU now.
func isBusy(ctx context.Context) (bool, error) {
	free, err := cputime.Free(ctx, 500*time.Millisecond)
	return free < 1.8, err
}

// decidedExperiment measures with that lab, which fits the host as it is now; the rest follows the rate.
func decidedExperiment(ctx context.Context, inventory *host.Inventory, pps int, format string, arguments ...any) (*result.Result, error) {
	busy, err := isBusy(ctx)
	if err != nil {
		return nil, err
	}
	return runExperiment(ctx, inventory, decidedLab(busy)+strconv.Itoa(pps)+fmt.Sprintf(format, arguments...))
}

// duets measures as many duets, whose packets of side b take longer in the forwarder by that work.
func duets(ctx context.Context, inventory *host.Inventory, times int, work, within time.Duration, ask ...string) ([]*result.Duet, error) {
	var list []*result.Duet
	for range times {
		done, err := decidedExperiment(ctx, inventory, duetPPS, `, warmup: 100ms, drain: 200ms}
duet: {a: {nodes.dut.app.work: 0ns}, b: {nodes.dut.app.work: %dns}, for: %dms, ask: %s}
`, work.Nanoseconds(), within.Milliseconds(), asList(ask))
		if err != nil {
			return list, err
		}
		duet := done.Summary.Trials[0].Duet
		for _, c := range duet.Comparisons {
			if c.Asked {
				fmt.Fprintf(os.Stderr, "  %s: %s after %v %s\n", c.Quantity, c.Decision, time.Duration(duet.TrafficNs).Round(time.Millisecond), c.Why)
			}
		}
		list = append(list, duet)
	}
	return list, nil
}

func asList(quantities []string) string {
	text := "["
	for i, q := range quantities {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%q", q)
	}
	return text + "]"
}

// comparisonsOf are those of one quantity; a duet that compared nothing has none.
func comparisonsOf(all []*result.Duet, quantity string) []result.DuetComparison {
	var list []result.DuetComparison
	for _, duet := range all {
		for _, c := range duet.Comparisons {
			if c.Quantity == quantity {
				list = append(list, c)
			}
		}
	}
	return list
}

func count(is bool) int {
	if is {
		return 1
	}
	return 0
}
