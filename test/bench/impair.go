package main

import (
	"context"
	"errors"
	"fmt"
	"math"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/host"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// The impairment that is measured, and what it may be off by.
const (
	impairDelayMicros = 100
	impairGoalMicros  = 1
	impairPPS         = 5000
)

// impairCase is a link of one kind: as it is, with the switch that impairs but does nothing, or
// with a delay.
type impairCase struct {
	kind   spec.LinkKind
	impair string
}

// impairFigures are the latencies of a case, and how much later than due its packets left.
type impairFigures struct{ p50, p99, lateP50, lateP99 []float64 }

// benchImpair measures what our impairments are off by: how much later than due packets leave, and
// how much more than the delay it adds to a packet's way; and what the switch costs that an impaired
// xdp link has between its ends.
func benchImpair(ctx context.Context, inventory *host.Inventory) ([]Row, error) {
	delay := fmt.Sprintf("{delay: %dus}", impairDelayMicros)
	kinds := []spec.LinkKind{spec.LinkSwitch, spec.LinkXDP}
	found := map[impairCase]*impairFigures{}
	for range throughputRounds {
		for _, kind := range kinds {
			for _, impair := range []string{"", "{}", delay} {
				c := impairCase{kind, impair}
				if found[c] == nil {
					found[c] = &impairFigures{}
				}
				if err := found[c].measure(ctx, inventory, c); err != nil {
					return nil, fmt.Errorf("%s, impair: %s: %w", kind, impair, err)
				}
			}
		}
	}
	text, met := atMost(1)
	var rows []Row
	for _, kind := range kinds {
		is, nothing := found[impairCase{kind, delay}], found[impairCase{kind, "{}"}]
		goal := fmt.Sprintf("%d µs", impairGoalMicros)
		row := func(name string, value float64) {
			rows = append(rows, compare(name, "µs", value, goal, impairGoalMicros, text, met))
		}
		row(fmt.Sprintf("impaired %s: later than due, p50", kind), median(is.lateP50))
		row(fmt.Sprintf("impaired %s: later than due, p99", kind), median(is.lateP99))
		row(fmt.Sprintf("impaired %s: off a delay of %d µs, p50", kind, impairDelayMicros), off(is.p50, nothing.p50))
		row(fmt.Sprintf("impaired %s: off a delay of %d µs, p99", kind, impairDelayMicros), off(is.p99, nothing.p99))
	}
	plain, hop := found[impairCase{spec.LinkXDP, ""}], found[impairCase{spec.LinkXDP, "{}"}]
	// No goal: the figure says what an impaired xdp link is not.
	none, always := "", func(float64) bool { return true }
	return append(rows,
		compare("xdp with a switch that impairs nothing: p50", "µs", median(hop.p50), "xdp", median(plain.p50), none, always),
		compare("xdp with a switch that impairs nothing: p99", "µs", median(hop.p99), "xdp", median(plain.p99), none, always)), nil
}

// off is how far the delay that was added is from the one that was to be, in either direction.
func off(delayed, alike []float64) float64 {
	return math.Abs(median(delayed) - median(alike) - impairDelayMicros)
}

// measure adds one round. One engine sends and receives, so that the switch has a CPU for itself
// where there are two.
func (f *impairFigures) measure(ctx context.Context, inventory *host.Inventory, c impairCase) (err error) {
	key := ""
	if c.impair != "" {
		key = ", impair: " + c.impair
	}
	a, err := open(ctx, inventory, fmt.Sprintf(`name: bench-impair
topology:
  nodes: {gen: {}}
  links: [{name: wire, kind: %s, endpoints: ["gen:tx", "gen:rx"]%s}]
traffic: {from: "gen:tx", to: "gen:rx", rate_pps: 1000}
`, c.kind, key))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	outcome, err := a.send(ctx, stream{
		backend: spec.BackendUDP, io: spec.IOSingle, wait: spec.WaitBlock, ratePPS: impairPPS, seconds: latencySeconds,
	})
	if err != nil {
		return err
	}
	if err := keepPercentiles(outcome.Rx.FromTx, &f.p50, &f.p99); err != nil || c.impair == "" {
		return err
	}
	socket, err := a.lab.SwitchSocket("wire")
	if err != nil {
		return err
	}
	engine, err := client.Dial(ctx, socket)
	if err != nil {
		return err
	}
	stats, err := engine.SwitchStats()
	if err := errors.Join(err, engine.Close()); err != nil {
		return err
	}
	for _, port := range stats.Ports {
		if port.Port == "gen:tx" && port.Impair != nil {
			return keepPercentiles(port.Impair.Late, &f.lateP50, &f.lateP99)
		}
	}
	return errors.New("the switch does not report its impairment")
}

// keepPercentiles adds the median and the 99th percentile of an engine's histogram, in microseconds.
func keepPercentiles(counts client.Histogram, p50, p99 *[]float64) error {
	h, err := result.ImportHistogram(result.Sparse(counts))
	if err != nil {
		return err
	}
	p := h.Percentiles()
	if p.P50 == nil || p.P99 == nil {
		return errors.New("too few packets arrived")
	}
	*p50, *p99 = append(*p50, micros(*p.P50)), append(*p99, micros(*p.P99))
	return nil
}
