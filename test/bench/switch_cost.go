package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"

	"nines.dev/nines/testbed/node"
)

// flatGoal is how much more a packet may cost with many ports or addresses than with
// two: the switch is to be as fast in a large lab as in a small one.
const flatGoal = 1.15

// switchCosts is what a packet takes in the switch alone, between ports that cost next
// to nothing: by the number of ports and of addresses.
func switchCosts(ctx context.Context) ([]Row, error) {
	engine, err := node.Program("nines-engine")
	if err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(ctx, engine+"-bench", "switch").Output()
	if err != nil {
		return nil, fmt.Errorf("%s-bench switch: %w", engine, err)
	}
	return costRows(out)
}

func costRows(out []byte) ([]Row, error) {
	var measured map[string]struct {
		MedianNs float64 `json:"median_ns"`
	}
	if err := json.Unmarshal(out, &measured); err != nil {
		return nil, fmt.Errorf("nines-engine-bench switch printed %q: %w", out, err)
	}
	rows := []Row{}
	for _, what := range []struct{ key, name string }{
		{"16_ports", "16 ports"},
		{"2_of_16_ports", "16 ports, 2 of them talking"},
		{"10000_macs", "10,000 MACs"},
		{"16_ports_10000_macs", "16 ports and 10,000 MACs"},
	} {
		if measured[what.key].MedianNs == 0 {
			return nil, fmt.Errorf("nines-engine-bench switch printed no %q: %s", what.key, out)
		}
		goal, met := atMost(flatGoal)
		rows = append(rows, compare("switch: cost of a packet, "+what.name, "ns", measured[what.key].MedianNs,
			"2 ports, 2 MACs", measured["2_ports"].MedianNs, goal, met))
	}
	return rows, nil
}
