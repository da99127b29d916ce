package spec

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// EnginePort is the UDP port that engines use where the traffic has no other; 7999 is registered for a
// service that sends nothing unasked (IANA: irdmi2, a retired remote desktop service). Flows by
// source port count up from it.
const EnginePort = 7999

// Limits of the engine that depend on several keys. A test compares these, and the bounds in rules,
// with the engine's sources (engine/control/keys.c and engine/port/udp.c).
const (
	ports       = 65536
	maxUDPFlows = 1000 // a socket each, below the usual limit of 1024 files
	maxPPS      = 1e9
	minPPS      = 1e-6
	maxRecorded = 1<<32 - 2 // the packet id has 32 bits
	maxCPU      = 4095
)

// rate checks the rate as the engine takes it: packets a second, in millionths.
func (c *checker) rate(t *Traffic, inBits bool) {
	pps := t.PacketsPerSecond()
	switch {
	case inBits && pps > maxPPS:
		c.fail(fmt.Sprintf("%s of frames of %d bytes are %.3g packets a second", t.RateBits, t.FrameBytes, pps),
			fmt.Sprintf("at most %.0f packets a second", float64(maxPPS)), "lower the rate, or send larger frames", "traffic", "rate_bits")
	case pps > 0 && pps < minPPS:
		c.fail(fmt.Sprintf("%g packets a second is slower than the engine counts", pps),
			fmt.Sprintf("%s or more, or 0 for an unlimited rate", strconv.FormatFloat(minPPS, 'f', -1, 64)), "", "traffic", "rate_pps")
	case pps > 0 && pps*time.Duration(t.Duration).Seconds() < 1:
		key := "rate_pps"
		if inBits {
			key = "rate_bits"
		}
		remedy, enough := "raise the rate", math.Ceil(1/pps) // seconds
		if most, err := ParseDuration(rules["Traffic.duration"].most); err == nil && enough <= time.Duration(most).Seconds() {
			remedy += fmt.Sprintf(", or write duration: %s or more", Duration(time.Duration(enough)*time.Second))
		}
		c.fail(fmt.Sprintf("%.3g packets a second are less than one in a trial of %s", pps, t.Duration), "a packet or more in the duration", remedy, "traffic", key)
	}
}

// flows checks the number of flows against the flow field and the backend.
func (c *checker) flows(t *Traffic) {
	switch {
	case t.Backend == BackendUDP && t.Flows > maxUDPFlows:
		c.fail(fmt.Sprintf("%d flows are too many for the backend udp, which has a socket for each", t.Flows),
			fmt.Sprintf("1 to %d with backend: udp", maxUDPFlows), "use backend: raw, ring or xdp, or fewer flows", "traffic", "flows")
	case t.FlowField == FlowSourcePort && t.Flows > ports-t.Port:
		c.fail(fmt.Sprintf("%d flows are too many for distinct source ports, which count up from %d", t.Flows, t.Port),
			fmt.Sprintf("1 to %d with flow_field: source_port", ports-t.Port), "use flow_field: source_address, or fewer flows", "traffic", "flows")
	}
}

// recording checks that there are enough packet ids for the recorded packets. How much a search or
// rate 0 will send is not known yet.
func (c *checker) recording(t *Traffic) {
	packets := t.PacketsPerSecond() * time.Duration(t.Duration).Seconds()
	if t.Packets == PacketsRecord && packets > maxRecorded {
		c.fail(fmt.Sprintf("a trial of %.3g packets is too long to record every packet", packets),
			fmt.Sprintf("at most %d packets", uint64(maxRecorded)), "shorten the duration, or lower the rate", "traffic", "packets")
	}
}
