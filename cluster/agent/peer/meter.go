package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"nines.dev/nines/analysis/confidence"
	"nines.dev/nines/cluster/agent/measure"
	"nines.dev/nines/engine/client"
	trials "nines.dev/nines/measure"
	"nines.dev/nines/measure/jitter"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// Meter measures round trips to other nodes.
type Meter struct {
	// Engine is the path of the engine program.
	Engine string
	// AgentPort is the TCP port of the agents.
	AgentPort uint16
	// Probes makes ports on pod networks; nil for none.
	Probes *Probes
}

// RefusedError is a peer's answer that it cannot be measured now.
type RefusedError struct {
	Node, Reason string
	// Soon is true if it measures, or is measured, itself, and can be measured after that.
	Soon bool
}

func (e *RefusedError) Error() string { return fmt.Sprintf("node %s refuses: %s", e.Node, e.Reason) }

const (
	// answerTime is how long a peer may take to answer: it checks for a second whether it is idle.
	answerTime = 15 * time.Second
	// drain is how long packets may take to return after the last was sent.
	drain = 500 * time.Millisecond
	// margin covers the engine's start, and the calibration of its clock in the first trial.
	margin = 5 * time.Second
)

// Measure measures the round trip to a node: over a pod network, or over the nodes' own network if over is
// nil.
func (m Meter) Measure(ctx context.Context, to Peer, over *Network, load measure.Load) (measure.Trial, error) {
	tier, own := measure.NodeNetwork, netip.Addr{}
	if over != nil {
		tier, own = string(over.Tier), Address(m.Probes.Node, netip.Addr{})
	}
	echo, err := m.ask(ctx, to, request{load.RatePPS, load.FrameBytes, int64(load.Duration), over, own})
	if err != nil {
		return measure.Trial{}, err
	}
	record, err := m.run(ctx, over, own, echo, load)
	busy, gone := m.release(context.WithoutCancel(ctx), to)
	if gone != nil {
		err = gone // even if some packets came back before
	}
	if err != nil {
		return measure.Trial{}, fmt.Errorf("measure the path to node %s over %s: %w", to.Node, tier, err)
	}
	if record.Trial.RxPackets == 0 {
		remedy := fmt.Sprintf("open UDP port %d between the nodes", echo.Port)
		if over != nil {
			remedy = fmt.Sprintf("check that the ports of %s on both nodes reach each other", over)
		}
		return measure.Trial{}, fmt.Errorf("measure the path to node %s over %s: it answers, but none of %d packets to %s came back: %s",
			to.Node, tier, record.Trial.TxPackets, netip.AddrPortFrom(echo.Address, uint16(echo.Port)), remedy)
	}
	trial := measure.Trial{
		Tier: tier, Peer: to.Node, Load: load, At: time.Now(),
		Verdict: record.Trial.Verdict, Reasons: record.Trial.Reasons, Latency: record.Histograms.Latency,
	}
	if record.Blocks != nil {
		trial.Blocks, trial.Level = confidence.TrialBlocks(record.Blocks.Counts), measure.LevelOf(record.Blocks.Counts)
	}
	if busy {
		trial.Disturb("node " + to.Node)
	}
	return trial, nil
}

// ask requests an echo from a peer.
func (m Meter) ask(ctx context.Context, to Peer, asked request) (given granted, _ error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	body, err := json.Marshal(asked)
	if err != nil {
		return given, err
	}
	call, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url(to), bytes.NewReader(body))
	if err != nil {
		return given, fmt.Errorf("request an echo from node %s: %w", to.Node, err)
	}
	answer, err := direct.Do(call)
	if err != nil {
		return given, fmt.Errorf("request an echo from node %s: %w; open TCP port %d between the nodes", to.Node, err, m.AgentPort)
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer))
	if err != nil {
		return given, fmt.Errorf("request an echo from node %s: %w", to.Node, err)
	}
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		if asked.Over != nil {
			return given, &AbsentError{Network: *asked.Over, Node: to.Node}
		}
		return given, fmt.Errorf("request an echo from node %s: %s", to.Node, answer.Status)
	case http.StatusConflict, http.StatusServiceUnavailable:
		return given, &RefusedError{to.Node, strings.TrimSpace(string(said)), answer.Header.Get(retryAfter) != ""}
	default:
		return given, fmt.Errorf("request an echo from node %s: %s: %s", to.Node, answer.Status, strings.TrimSpace(string(said)))
	}
	if err := json.Unmarshal(said, &given); err != nil || given.Port < 1 || given.Port > 65535 {
		return given, fmt.Errorf("request an echo from node %s: its answer %q has no valid port", to.Node, said)
	}
	if !given.Address.IsValid() {
		given.Address = to.Address
	}
	return given, nil
}

// direct calls agents. It uses no proxy, because the path between the nodes is measured; and no persistent
// connections, which would wake both nodes.
var direct = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

// release ends an echo, and returns whether the peer became busy meanwhile. It is an error if the peer has ended the echo
// before. A peer that does not receive the request ends the echo after a timeout.
func (m Meter) release(ctx context.Context, to Peer) (busy bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	call, err := http.NewRequestWithContext(ctx, http.MethodDelete, m.url(to), nil)
	if err != nil {
		return false, err
	}
	answer, err := direct.Do(call)
	if err != nil {
		return false, nil //nolint:nilerr // the trial is over, and the peer ends the echo after a timeout
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer))
	if answer.StatusCode == http.StatusGone {
		return false, errors.Join(err, errors.New(strings.TrimSpace(string(said))))
	}
	var how ended
	if err == nil && json.Unmarshal(said, &how) == nil { // an agent of before says nothing
		return how.Busy, nil
	}
	return false, nil
}

// mostAnswer limits a peer's answer, in bytes.
const mostAnswer = 4096

func (m Meter) url(to Peer) string {
	return "http://" + netip.AddrPortFrom(to.Address, m.AgentPort).String() + Path
}

// start starts a trial's engine, and returns it with the path by which it sends.
func (m Meter) start(ctx context.Context, over *Network, own, to netip.Addr) (*jitter.Engine, way, func() error, error) {
	if over != nil {
		made, err := m.Probes.start(ctx, m.Engine, *over, own)
		if err != nil {
			return nil, way{}, nil, err
		}
		return made.engine, way{probeInterface, own}, made.end, nil
	}
	by, err := wayTo(to)
	if err != nil {
		return nil, by, nil, err
	}
	engine, err := jitter.StartEngine(m.Engine)
	if err != nil {
		return nil, by, nil, err
	}
	return engine, by, engine.End, nil
}

// run sends packets and receives them back in one engine. Its thread sleeps between them, like a program that
// waits for an answer.
func (m Meter) run(ctx context.Context, over *Network, own netip.Addr, echo granted, load measure.Load) (record result.Record, err error) {
	engine, by, end, err := m.start(ctx, over, own, echo.Address)
	if err != nil {
		return record, err
	}
	defer func() { err = errors.Join(err, end()) }()
	if _, err := engine.Open(portOf(by, echo.Address, echo.Port, int(load.FrameBytes))); err != nil {
		return record, err
	}
	defer context.AfterFunc(ctx, func() { _ = engine.Abort() })()
	measured, err := engine.Trial(client.Trial{
		Role: "loop", CPU: -1,
		Streams:  []client.Stream{{Tx: portName, Rx: portName, RatePPS: float64(load.RatePPS), Pattern: "constant", Burst: 1, Seed: 1}},
		WarmupNs: int64(measure.WarmUp), DurationNs: int64(load.Duration), DrainNs: int64(drain),
	}, client.Events{Started: func(client.Started) {
		if ctx.Err() != nil {
			_ = engine.Abort() // ctx ended before there was a trial to abort
		}
	}})
	if err != nil {
		return record, err
	}
	if ctx.Err() != nil {
		return record, ctx.Err()
	}
	return trials.RecordLoop(measured, spec.Traffic{
		RatePPS: float64(load.RatePPS), FrameBytes: int(load.FrameBytes),
		Warmup: spec.Duration(measure.WarmUp), Duration: spec.Duration(load.Duration), Drain: spec.Duration(drain),
	})
}
