package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/host"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/spec"
)

// recordingRounds is the number of rounds without and with a recording, of a second each; together
// they write some 15 GB to the disk.
const recordingRounds = 7

// benchRecording measures what recording every packet, sent and received, costs the measuring
// thread: in memory, where a packet is cheapest and the relative cost largest, and with packet
// sockets over a bridge.
func benchRecording(ctx context.Context, inventory *host.Inventory) ([]Row, error) {
	inMemory, err := recordingInMemory(ctx, inventory)
	if err != nil {
		return nil, err
	}
	lists, err := listsInMemory(ctx, inventory)
	if err != nil {
		return nil, err
	}
	arrivals, err := arrivalsInMemory(ctx, inventory)
	if err != nil {
		return nil, err
	}
	bySockets, err := recordingBySockets(ctx, inventory)
	return append([]Row{inMemory, lists, arrivals}, bySockets...), err
}

// maxListsCost is the share of a packet that telling and listing interruptions may take.
const maxListsCost = 0.02

// listsInMemory measures what a thread's gap meter takes, with the list of all interruptions, of a packet in memory, of which
// a turn handles 64.
func listsInMemory(ctx context.Context, inventory *host.Inventory) (Row, error) {
	engine, err := node.Program("nines-engine")
	if err != nil {
		return Row{}, err
	}
	cpus := inventory.AllowedCPUs
	out, err := exec.CommandContext(ctx, engine+"-bench", strconv.Itoa(cpus[len(cpus)-1]), "1").Output()
	if err != nil {
		return Row{}, fmt.Errorf("%s-bench: %w", engine, err)
	}
	return listsRow(out)
}

func listsRow(out []byte) (Row, error) {
	var measured struct {
		Packet float64 `json:"least_ns_per_packet"`
		Stages struct {
			Turn float64 `json:"turn"`
		} `json:"stage_ns"`
	}
	if err := json.Unmarshal(out, &measured); err != nil {
		return Row{}, fmt.Errorf("the loop's figures are %q: %w", out, err)
	}
	const burst = 64
	goal, met := atMost(maxListsCost)
	return compare("a loop in memory, all interruptions listed", "ns/packet", measured.Stages.Turn/burst, "all of a packet", measured.Packet, goal, met), nil
}

// maxArrivalsCost is the share that keeping the arrivals may add to a packet.
const maxArrivalsCost = 0.03

// arrivalsInMemory measures what a packet in memory takes without and with the arrivals of all packets kept: the median of
// turns, each where others took least of the CPU. The least of all turns may be a moment of a faster clock.
func arrivalsInMemory(ctx context.Context, inventory *host.Inventory) (Row, error) {
	engine, err := node.Program("nines-engine")
	if err != nil {
		return Row{}, err
	}
	cpus := inventory.AllowedCPUs
	out, err := exec.CommandContext(ctx, engine+"-bench", "arrivals", strconv.Itoa(cpus[len(cpus)-1])).Output()
	if err != nil {
		return Row{}, fmt.Errorf("%s-bench arrivals: %w", engine, err)
	}
	return arrivalsRow(out)
}

func arrivalsRow(out []byte) (Row, error) {
	var measured struct {
		Without []float64 `json:"without_ns"`
		With    []float64 `json:"with_ns"`
	}
	if err := json.Unmarshal(out, &measured); err != nil {
		return Row{}, fmt.Errorf("the figures of arrivals are %q: %w", out, err)
	}
	goal, met := atMost(1 + maxArrivalsCost)
	return compare("a loop in memory, arrivals of all packets kept", "ns/packet", median(measured.With), "without arrivals", median(measured.Without), goal, met), nil
}

// recordingFolder is on the disk that results are usually written to.
const recordingFolder = "."

// maxRecordingCost is the share of its rate that the measuring thread may lose.
const maxRecordingCost = 0.1

func recordingRow(name, unit string, with, without []float64) Row {
	goal, met := atLeast(1 - maxRecordingCost)
	return compare(name, unit, median(with), "without a recording", median(without), goal, met)
}

// ownRate is the rate in kpps while the measuring thread had the CPU: it leaves out the time that
// other work took.
func ownRate(packets uint64, r client.TrialResult) float64 {
	own := throughputSeconds - float64(r.RunDelayNs)/1e9
	if own <= 0 {
		return 0
	}
	return float64(packets) / own / 1000
}

func recordingInMemory(ctx context.Context, inventory *host.Inventory) (Row, error) {
	engine, err := node.Program("nines-engine")
	if err != nil {
		return Row{}, err
	}
	cpus := inventory.AllowedCPUs
	if len(cpus) < 2 {
		return Row{}, errors.New("the measuring thread and the one that writes want a CPU each")
	}
	out, err := exec.CommandContext(ctx, engine+"-bench", "recording", recordingFolder,
		strconv.Itoa(cpus[len(cpus)-1]), "1", strconv.Itoa(recordingRounds)).Output()
	if err != nil {
		return Row{}, fmt.Errorf("%s-bench recording: %w", engine, err)
	}
	return memoryRow(out)
}

func memoryRow(out []byte) (Row, error) {
	var measured struct {
		Without []float64 `json:"without_mpps"`
		With    []float64 `json:"with_mpps"`
		Records uint64    `json:"records"`
		Lost    uint64    `json:"lost"`
	}
	if err := json.Unmarshal(out, &measured); err != nil {
		return Row{}, fmt.Errorf("the recording's figures are %q: %w", out, err)
	}
	name := "a loop in memory, every packet recorded to disk"
	if measured.Lost > 0 {
		name += fmt.Sprintf(" (%.2f %% lost by the disk)", 100*float64(measured.Lost)/float64(measured.Records+measured.Lost))
	}
	return recordingRow(name, "Mpps", measured.With, measured.Without), nil
}

func recordingBySockets(ctx context.Context, inventory *host.Inventory) (rows []Row, err error) {
	a, err := openArena(ctx, inventory, spec.LinkBridge)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.close()) }()
	way := stream{backend: spec.BackendRaw, io: spec.IOBatch, wait: spec.WaitBlock, burst: tableBurst, seconds: throughputSeconds}
	rates := make(map[bool][2][]float64)
	for range throughputRounds {
		for _, record := range []bool{false, true} {
			way.record = record
			outcome, err := a.send(ctx, way)
			if err != nil {
				return nil, err
			}
			was := rates[record]
			rates[record] = [2][]float64{
				append(was[0], ownRate(outcome.Tx.TxPackets, outcome.Tx)), append(was[1], ownRate(outcome.Rx.RxPackets, outcome.Rx)),
			}
		}
	}
	with, without := rates[true], rates[false]
	return []Row{
		recordingRow("raw batch, every packet recorded to disk, sent", "kpps", with[0], without[0]),
		recordingRow("raw batch, every packet recorded to disk, received", "kpps", with[1], without[1]),
	}, nil
}
