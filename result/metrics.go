package result

// MetricsSchema names the form of metrics.json.
const MetricsSchema = "nines/metrics/v1"

// Metrics is metrics.json of a trial whose packets were all recorded, or of a pair of
// captures: the standards' metrics of the packet stream as a whole, and of each flow
// where there are several.
type Metrics struct {
	Schema string        `json:"schema"`
	All    FlowMetrics   `json:"all"`
	Flows  []FlowMetrics `json:"flows,omitempty"`
}

// FlowMetrics are the metrics of one stream of packets in the order they were sent.
// Times are nanoseconds.
type FlowMetrics struct {
	// Flow names it; empty for all packets.
	Flow       string `json:"flow,omitempty"`
	Sent       uint64 `json:"sent_packets"`
	Received   uint64 `json:"received_packets"` // each counted once
	Lost       uint64 `json:"lost_packets"`
	Duplicates uint64 `json:"duplicate_packets"`
	// Latency is that of the packets received.
	Latency Percentiles `json:"latency_ns"`
	// PDV is D(i) − min D (RFC 5481 section 4.2).
	PDV Percentiles `json:"pdv_ns"`
	// IPDV is |D(i) − D(i−1)| of packets that were sent one after the other and both
	// received (RFC 3393, RFC 5481 section 4.1); IPDVRange has its signed extremes.
	IPDV      Percentiles `json:"ipdv_abs_ns"`
	IPDVRange [2]int64    `json:"ipdv_range_ns"`
	// GapsSent and GapsReceived are the times from a packet to the next, where it was
	// sent and where it was received.
	GapsSent     Percentiles `json:"gaps_sent_ns"`
	GapsReceived Percentiles `json:"gaps_received_ns"`
	// LossRuns counts runs of consecutive lost packets by their length.
	LossRuns []LossRun `json:"loss_runs"`
	// Reordering is after RFC 4737.
	Reordering Reordering `json:"reordering"`
}

// LossRun says how often exactly so many packets were lost in a row.
type LossRun struct {
	Length uint64 `json:"length_packets"`
	Count  uint64 `json:"count"`
}

// Reordering has RFC 4737's metrics: a packet is reordered if one sent later had
// arrived before it.
type Reordering struct {
	// Reordered and Ratio: section 3.
	Reordered uint64  `json:"reordered_packets"`
	Ratio     float64 `json:"ratio"` // of the packets received
	// ExtentMax and ExtentMean: section 4.2, in packets.
	ExtentMax  uint64  `json:"extent_max_packets"`
	ExtentMean float64 `json:"extent_mean_packets"`
	// LateMaxNs is the largest late time offset: section 4.3.
	LateMaxNs int64 `json:"late_max_ns"`
	// GapMean is the mean reordering gap, in packets: section 4.4.
	GapMean float64 `json:"gap_mean_packets"`
	// FreeRunMean is the mean reordering-free run, in packets: section 4.5.
	FreeRunMean float64 `json:"free_run_mean_packets"`
}
