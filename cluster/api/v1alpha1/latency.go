package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// NodeLatency is what was measured at one node, and has the node's name. It belongs to the whole
// cluster, in no namespace. One object for each node, which only the node's own agent writes: so
// two agents cannot contradict each other about a node, and the object is deleted with the node.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type NodeLatency struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Figures are of one tier and peer each.
	Figures []Figure `json:"figures,omitempty"`
}

// NodeLatencyList is several of them.
//
// +k8s:deepcopy-gen:interfaces=k8s.io/apimachinery/pkg/runtime.Object
type NodeLatencyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []NodeLatency `json:"items"`
}

// Figure is one measurement: the latency over a tier, within the node or to another.
type Figure struct {
	// Tier is the way that packets take: veth, macvlan, vxlan, ovn, ovs, ovs-dpdk, switch, memif,
	// sriov, or a name of the user's own.
	Tier string `json:"tier"`
	// Peer is the other node; empty within the node.
	Peer string `json:"peer"`
	// Way is what was timed. Between two machines without a common clock it is a round trip.
	Way Way `json:"way"`

	// Count is the number of packets that the percentiles are of.
	Count int64 `json:"count"`
	// Percentiles are in rising order, and only those that Count supports.
	Percentiles []Percentile `json:"percentiles,omitempty"`
	// MaxNs is the slowest packet.
	MaxNs int64 `json:"maxNs,omitempty"`
	// QuietNs is the latency where nothing disturbed the newest trial: in a quarter of its blocks of time, a tenth of the
	// packets is no slower. 0 if nobody says.
	QuietNs int64 `json:"quietNs,omitempty"`
	// Newest is the last trial alone; nil if nobody says, or if none was valid.
	Newest *Newest `json:"newest,omitempty"`
	// ErrorNs is how wrong the clocks may have been about each packet: 0 for one clock.
	ErrorNs int64 `json:"errorNs,omitempty"`
	// RatePPS and FrameBytes are the load at which it was measured.
	RatePPS    int64 `json:"ratePPS,omitempty"`
	FrameBytes int64 `json:"frameBytes,omitempty"`

	// Verdict reports whether the host kept still; Reasons are why it did not.
	Verdict Verdict  `json:"verdict"`
	Reasons []string `json:"reasons,omitempty"`

	// Since is when the first packets of Histogram were measured; nil if nobody says.
	Since *metav1.Time `json:"since,omitempty"`
	// ChangedAt is when the path was first found changed: what was measured before, by either end, is of another path.
	ChangedAt *metav1.Time `json:"changedAt,omitempty"`
	// MeasuredAt is the end of the measurement, and ValidUntil when the figure counts as unknown.
	MeasuredAt metav1.Time `json:"measuredAt"`
	ValidUntil metav1.Time `json:"validUntil"`

	// Histogram is all packets: an HdrHistogram, encoded as V2 and compressed.
	Histogram []byte `json:"histogram,omitempty"`
	// Spread is how the packets are spread over time, which the bounds rest on, for the agent that
	// continues with them (confidence.Blocks). A figure with a histogram and without it has no bounds
	// that count: older agents took packets as independent of each other.
	Spread []byte `json:"spread,omitempty"`
}

// Newest is what the last trial of a figure says alone, from fewer packets.
type Newest struct {
	MeasuredAt  metav1.Time  `json:"measuredAt"`
	Count       int64        `json:"count"`
	Percentiles []Percentile `json:"percentiles,omitempty"`
	MaxNs       int64        `json:"maxNs,omitempty"`
	Verdict     Verdict      `json:"verdict"`
	Reasons     []string     `json:"reasons,omitempty"`
}

// Percentile is the latency that this part of the packets did not exceed.
type Percentile struct {
	// P is in percent and as people write it: "50", "99.99".
	P       string `json:"p"`
	ValueNs int64  `json:"valueNs"`
	// UpperNs is how large the true percentile may be, with 95 % confidence. It is absent where
	// nothing bounds it: too few packets are beyond it, or they came in too few bursts.
	UpperNs *int64 `json:"upperNs,omitempty"`
}

// Way is what a figure has timed.
type Way string

// One way is from sender to receiver by one clock, or two that agree; a round trip there and back.
const (
	OneWay    Way = "OneWay"
	RoundTrip Way = "RoundTrip"
)

// Verdict is what a trial says of itself.
type Verdict string

// Noise only ever makes packets slower, so a noisy figure is an upper one. An invalid one did not
// send what it promised, and says nothing.
const (
	Clean   Verdict = "Clean"
	Noisy   Verdict = "Noisy"
	Invalid Verdict = "Invalid"
)
