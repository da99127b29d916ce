package spec

import (
	"time"

	"go.yaml.in/yaml/v4"
)

// Traffic is the stream that is measured.
type Traffic struct {
	// From is the "node:interface" that the packets leave by.
	From string `yaml:"from" json:"from"`
	// To is the "node:interface" that they arrive at. The same as From measures
	// the round trip through a reflecting node.
	To string `yaml:"to" json:"to"`
	// IP is the IP version of the packets, 4 or 6 (default 4).
	IP int `yaml:"ip,omitempty" json:"ip,omitempty"`
	// FrameBytes is the size of the Ethernet frame with its FCS, 64 (with IPv6 84) to 9018
	// (default 64).
	FrameBytes int `yaml:"frame_bytes,omitempty" json:"frame_bytes,omitempty"`
	// RatePPS is the rate in packets a second; 0 is as fast as the port takes
	// them. One of rate_pps, rate_bits and rate_of_maximum is given.
	RatePPS float64 `yaml:"rate_pps,omitempty" json:"rate_pps,omitempty"`
	// RateBits is the rate in bits of frames a second, with FCS, without preamble
	// and gap.
	RateBits BitRate `yaml:"rate_bits,omitempty" json:"rate_bits,omitempty"`
	// RateOfMaximum is the rate as a fraction, up to 1, of the packets a second that a trial at
	// rate 0 receives. That trial runs first, with the same other values. This key excludes the
	// other two.
	RateOfMaximum float64 `yaml:"rate_of_maximum,omitempty" json:"rate_of_maximum,omitempty"`
	// Pattern is how intended send times are spaced (default constant).
	Pattern Pattern `yaml:"pattern,omitempty" json:"pattern,omitempty"`
	// Burst is how many packets share one intended send time (default 1).
	Burst int `yaml:"burst,omitempty" json:"burst,omitempty"`
	// Flows is how many flows the packets are spread over in turn (default 1). At most 65535 by
	// source_address, 65536 less the port by source_port, and 1000 with the backend udp.
	Flows int `yaml:"flows,omitempty" json:"flows,omitempty"`
	// FlowField is the field that tells flows apart (default source_port).
	FlowField FlowField `yaml:"flow_field,omitempty" json:"flow_field,omitempty"`
	// Port is the UDP port that packets go to and come from, and where flows by source port begin (default 7999).
	Port int `yaml:"port,omitempty" json:"port,omitempty"`
	// Backend is how the engine reaches the interfaces (default udp).
	Backend Backend `yaml:"backend,omitempty" json:"backend,omitempty"`
	// IO is how many packets one call moves (default single; batch with dpdk).
	IO IO `yaml:"io,omitempty" json:"io,omitempty"`
	// Wait is what the engine does when there is nothing to do (default auto; spin
	// with dpdk).
	Wait Wait `yaml:"wait,omitempty" json:"wait,omitempty"`
	// Warmup is how long packets are sent before the duration without being recorded (default 1s).
	Warmup Duration `yaml:"warmup" json:"warmup"`
	// Duration is how long the recorded packets are sent (default 10s).
	Duration Duration `yaml:"duration,omitempty" json:"duration,omitempty"`
	// Drain is how long to wait for stragglers (default 500ms).
	Drain Duration `yaml:"drain" json:"drain"`
	// PathTimeout is how long to wait, after the lab was built or changed, until packets come as planned (default 10s; 0s does
	// not wait).
	PathTimeout Duration `yaml:"path_timeout" json:"path_timeout"`
	// Outliers is how many of the slowest packets are kept with their times (default 1000).
	Outliers int `yaml:"outliers" json:"outliers"`
	// Packets says whether a row is kept for every packet (default none).
	Packets Packets `yaml:"packets,omitempty" json:"packets,omitempty"`
}

// PacketsPerSecond is the rate, in whichever unit it was given; 0 is as fast as the port takes
// packets.
func (t *Traffic) PacketsPerSecond() float64 {
	if t.RateBits > 0 {
		return float64(t.RateBits) / 8 / float64(t.FrameBytes)
	}
	return t.RatePPS
}

// Version says that packets are of another IP version than most; empty: IPv4.
func (t *Traffic) Version() string {
	if t.IP == 6 {
		return " of IPv6"
	}
	return ""
}

// Lasts is how long a trial sends packets and waits for them.
func (t *Traffic) Lasts() time.Duration { return time.Duration(t.Warmup + t.Duration + t.Drain) }

// LongestDrain is the longest drain that a file may ask for.
func LongestDrain() Duration {
	longest, err := ParseDuration(rules["Traffic.drain"].most)
	if err != nil {
		panic(err) // the rule is part of the program
	}
	return longest
}

// AtMost is the experiment with its traffic sent as fast as the port takes packets: the trial that
// finds what rate_of_maximum is a fraction of. It keeps no data of single packets, and nothing happens
// in it.
func (e *Experiment) AtMost() *Experiment {
	stream, most := *e.Traffic, *e
	stream.RatePPS, stream.RateBits, stream.RateOfMaximum = 0, 0, 0
	stream.Packets = PacketsNone
	most.Traffic = &stream
	most.Events = nil
	return &most
}

// MarshalYAML keeps a rate of 0, which would else be left out as empty.
func (t Traffic) MarshalYAML() (any, error) {
	type plain Traffic
	if t.RatePPS != 0 || t.RateBits != 0 || t.RateOfMaximum != 0 {
		return plain(t), nil
	}
	var node yaml.Node
	if err := node.Encode(plain(t)); err != nil {
		return nil, err
	}
	node.Content = append(node.Content,
		&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "rate_pps"},
		&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: "0"})
	return &node, nil
}

// Packets is what is kept of single packets, besides the slowest.
type Packets string

// PacketsNone keeps only histograms and the slowest packets; PacketsRecord also a row for every
// packet, and the metrics that need the rows.
const (
	PacketsNone   Packets = "none"
	PacketsRecord Packets = "record"
)

// Pattern spaces intended send times.
type Pattern string

// PatternConstant spaces bursts evenly, PatternPoisson exponentially.
const (
	PatternConstant Pattern = "constant"
	PatternPoisson  Pattern = "poisson"
)

// FlowField is the header field that tells flows apart.
type FlowField string

// The fields that tell flows apart.
const (
	FlowSourcePort    FlowField = "source_port"
	FlowSourceAddress FlowField = "source_address"
)

// Backend is how the engine reaches an interface.
type Backend string

// BackendUDP is UDP sockets, BackendRaw AF_PACKET sockets, BackendRing TPACKET_V2 rings, BackendXDP
// AF_XDP sockets, BackendDPDK DPDK's drivers, which always spin and always move packets in bursts.
const (
	BackendUDP  Backend = "udp"
	BackendRaw  Backend = "raw"
	BackendRing Backend = "ring"
	BackendXDP  Backend = "xdp"
	BackendDPDK Backend = "dpdk"
)

// IO is how many packets one call moves.
type IO string

// IOSingle is one packet a call; IOBatch up to a burst of 64, which the kernel gets as one buffer
// where it can segment it, or as XDP frames; IOMmsg is up to 64 packets as separate buffers, by
// sendmmsg and recvmmsg, or the AF_XDP socket.
const (
	IOSingle IO = "single"
	IOBatch  IO = "batch"
	IOMmsg   IO = "mmsg"
)

// Wait is what the engine does when there is nothing to do.
type Wait string

// WaitBlock sleeps in the kernel, WaitSpin polls, WaitBusyPoll sleeps with the
// socket's busy polling (SO_BUSY_POLL, SO_PREFER_BUSY_POLL). With WaitAuto the plan chooses: spin where that takes
// nothing from others, else block (plan/wait.go).
const (
	WaitBlock    Wait = "block"
	WaitSpin     Wait = "spin"
	WaitBusyPoll Wait = "busy_poll"
	WaitAuto     Wait = "auto"
)
