package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"

	"nines.dev/nines/lab/node"
)

// flatGoal is how much more a packet may cost with many ports or addresses than with two: the
// switch should be as fast in a large lab as in a small one.
const flatGoal = 1.15

// switchCosts measures the cost of a packet in the switch alone, between ports that cost almost
// nothing, by the number of ports and addresses.
func switchCosts(ctx context.Context) ([]Row, error) {
	engine, err := node.Program("nines-engine")
	if err != nil {
		return nil, err
	}
	costs := make(map[string][]float64)
	// Other work on the machine may delay most of a case's rounds in one run.
	for range throughputRounds {
		out, err := exec.CommandContext(ctx, engine+"-bench", "switch").Output()
		if err != nil {
			return nil, fmt.Errorf("%s-bench switch: %w", engine, err)
		}
		if err := addCosts(costs, out); err != nil {
			return nil, err
		}
	}
	return costRows(costs)
}

// addCosts reads what one run printed, in nanoseconds by case.
func addCosts(costs map[string][]float64, out []byte) error {
	var measured map[string]struct {
		MedianNs float64 `json:"median_ns"`
	}
	if err := json.Unmarshal(out, &measured); err != nil {
		return fmt.Errorf("nines-engine-bench switch printed %q: %w", out, err)
	}
	for name, of := range measured {
		costs[name] = append(costs[name], of.MedianNs)
	}
	return nil
}

func costRows(costs map[string][]float64) ([]Row, error) {
	rows := []Row{}
	for _, what := range []struct{ key, name string }{
		{"16_ports", "16 ports"},
		{"2_of_16_ports", "16 ports, 2 of them talking"},
		{"10000_macs", "10,000 MACs"},
		{"16_ports_10000_macs", "16 ports and 10,000 MACs"},
	} {
		cost := median(costs[what.key])
		if cost == 0 {
			return nil, fmt.Errorf("nines-engine-bench switch printed no %q: %v", what.key, costs)
		}
		goal, met := atMost(flatGoal)
		rows = append(rows, compare("switch: cost of a packet, "+what.name, "ns", cost,
			"2 ports, 2 MACs", median(costs["2_ports"]), goal, met))
	}
	return rows, nil
}
