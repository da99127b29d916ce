package result

// MetricsSchema names the format of metrics.json.
const MetricsSchema = "nines/metrics/v1"

// Metrics is metrics.json of a trial with all packets recorded, or of a pair of captures: the
// standards' metrics of the packet stream as a whole, and of each flow if there are several.
type Metrics struct {
	Schema string        `json:"schema"`
	All    FlowMetrics   `json:"all"`
	Flows  []FlowMetrics `json:"flows,omitempty"`
}

// FlowMetrics are the metrics of one stream of packets in send order. Times are nanoseconds.
type FlowMetrics struct {
	// Flow names it; empty for all packets.
	Flow       string `json:"flow,omitempty"`
	Sent       uint64 `json:"sent_packets"`
	Received   uint64 `json:"received_packets"` // without duplicates
	Lost       uint64 `json:"lost_packets"`
	Duplicates uint64 `json:"duplicate_packets"`
	// Latency is that of the received packets.
	Latency Percentiles `json:"latency_ns"`
	// PDV is D(i) − min D (RFC 5481 section 4.2).
	PDV Percentiles `json:"pdv_ns"`
	// IPDV is |D(i) − D(i−1)| of consecutively sent packets that were both received (RFC 3393, RFC
	// 5481 section 4.1); IPDVRange has its signed extremes.
	IPDV      Percentiles `json:"ipdv_abs_ns"`
	IPDVRange [2]int64    `json:"ipdv_range_ns"`
	// GapsSent and GapsReceived are the times between consecutive packets, at the sender and at the
	// receiver.
	GapsSent     Percentiles `json:"gaps_sent_ns"`
	GapsReceived Percentiles `json:"gaps_received_ns"`
	// LossRuns counts runs of consecutive lost packets by their length.
	LossRuns []LossRun `json:"loss_runs"`
	// Reordering is after RFC 4737.
	Reordering Reordering `json:"reordering"`
}

// complete sets the schema, and makes JSON have [] instead of null.
func (m *Metrics) complete() {
	m.Schema = MetricsSchema
	m.All.complete()
	for i := range m.Flows {
		m.Flows[i].complete()
	}
}

func (f *FlowMetrics) complete() {
	if f.LossRuns == nil {
		f.LossRuns = []LossRun{}
	}
}

// LossRun says how often exactly this many packets were lost in a row.
type LossRun struct {
	Length uint64 `json:"length_packets"`
	Count  uint64 `json:"count"`
}

// Reordering has RFC 4737's metrics: a packet is reordered if one sent later had arrived before it
// (section 3.3). Its discontinuity is the first such arrival.
type Reordering struct {
	// Reordered and Ratio: sections 3 and 4.1.
	Reordered uint64  `json:"reordered_packets"`
	Ratio     float64 `json:"ratio"` // of the packets received
	// ExtentMax and ExtentMean: section 4.2, the arrivals from a packet's discontinuity
	// to its own.
	ExtentMax  uint64  `json:"extent_max_packets"`
	ExtentMean float64 `json:"extent_mean_packets"`
	// LateMaxNs is the largest late time offset: section 4.3, the same as a time.
	LateMaxNs int64 `json:"late_max_ns"`
	// GapMean is the mean reordering gap: section 4.5, the arrivals from one discontinuity to the
	// next; 0 for fewer than two.
	GapMean float64 `json:"gap_mean_packets"`
	// FreeRunMean is the mean reordering-free run: section 4.6, packets in order
	// between two that are not, before the first and after the last.
	FreeRunMean float64 `json:"free_run_mean_packets"`
}
