package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"

	"nines.dev/nines/host"
	"nines.dev/nines/lab/node"
)

// memoryGoalMpps is the rate at which one core should stamp, send, receive and record between two
// ports in memory; no comparable program records every packet.
const memoryGoalMpps = 20

// benchMemory measures the engine alone: the cost of measuring, without a network.
func benchMemory(ctx context.Context, _ *host.Inventory) ([]Row, error) {
	engine, err := node.Program("nines-engine")
	if err != nil {
		return nil, err
	}
	out, err := exec.CommandContext(ctx, engine+"-bench").Output()
	if err != nil {
		return nil, fmt.Errorf("%s-bench: %w", engine, err)
	}
	var measured struct {
		Mpps float64 `json:"mpps"`
	}
	if err := json.Unmarshal(out, &measured); err != nil {
		return nil, fmt.Errorf("%s-bench printed %q: %w", engine, out, err)
	}
	goal, met := atLeast(1)
	return []Row{compare("stamp, send, receive and record in memory, one core", "Mpps", measured.Mpps,
		"goal", memoryGoalMpps, goal, met)}, nil
}
