package result

import "time"

// Schema names the format of summary.json.
const Schema = "nines/result/v1"

// Rules is the version of the rules that make a result's numbers and verdicts. docs/reference/results.md lists what has changed
// with each. It grows whenever the same packets would give another number.
const Rules = 3

// Summary is summary.json: one record per trial.
type Summary struct {
	Schema string `json:"schema"`
	// Rules is the version of the rules that made the numbers and verdicts; absent before version 2.
	Rules   int       `json:"rules,omitempty"`
	Name    string    `json:"name"`
	Started time.Time `json:"started"`
	Trials  []Trial   `json:"trials"`
	// Resumed is when the run was resumed after an interruption.
	Resumed []time.Time `json:"resumed,omitempty"`
	// Skipped are combinations that were not measured, and why.
	Skipped []Skipped `json:"skipped,omitempty"`
}

// Skipped is a combination of the swept variables that could not be measured, while others could:
// its program is not installed, or its maximum was not found.
type Skipped struct {
	Variables map[string]any `json:"variables"`
	Reason    string         `json:"reason"`
}

// Trial is one measured run of the traffic. TxPackets = RxPackets + LostPackets; RxPackets counts
// each packet once, without duplicates.
type Trial struct {
	ID string `json:"id"` // "0001", the folder below trials/
	// Variables are the swept keys and their values in this trial.
	Variables map[string]any `json:"variables"`
	Repeat    int            `json:"repeat"` // counted from 1
	// Search is the ID of the trial's search; empty for a plain trial.
	Search string `json:"search,omitempty"`
	// Purpose is why the search ran it, such as "loss verification".
	Purpose     string  `json:"purpose,omitempty"`
	OfferedPPS  float64 `json:"offered_pps"`
	TxPackets   uint64  `json:"tx_packets"`
	RxPackets   uint64  `json:"rx_packets"`
	LostPackets uint64  `json:"lost_packets"`
	// UnsentPackets were due, and not sent in time.
	UnsentPackets    uint64 `json:"unsent_packets,omitempty"`
	DuplicatePackets uint64 `json:"duplicate_packets"`
	ReorderedPackets uint64 `json:"reordered_packets"`
	// Latency is receive − intended send, FromTx receive − actual send, SendLag
	// actual − intended send.
	Latency Percentiles `json:"latency_ns"`
	FromTx  Percentiles `json:"from_tx_ns"`
	SendLag Percentiles `json:"send_lag_ns"`
	// Undisturbed is the latency without the host's interruptions; nil where these or the packets' times are not known.
	Undisturbed *Undisturbed `json:"latency_undisturbed_ns,omitempty"`
	// Verdict says whether to trust the trial.
	Verdict Verdict `json:"verdict"`
	// Reasons say why it is not clean.
	Reasons []string `json:"reasons"`
	// Refused is true where nothing was measured, as no packet passed the network before the trial: its reason says where
	// they ended.
	Refused bool `json:"refused,omitempty"`
	// LostAs says where the lost packets are, if most are in one gap, and which nodes dropped them, by the kernel's counters;
	// empty otherwise.
	LostAs string `json:"lost_as,omitempty"`
	// SeenPath is the path that the packets took; nil where no packet of nines' own was received, and in results of
	// before.
	SeenPath *SeenPath `json:"seen_path,omitempty"`
	// Ends are how the engines at the traffic's ends ran; nil for captures and scripts, and in results of before.
	Ends *Ends `json:"ends,omitempty"`
	// Interruptions is what the witnesses on the packets' way told of the host; nil for captures and scripts, and in
	// results of before.
	Interruptions *Interruptions `json:"interruptions,omitempty"`
	// Streams are the trial's, if it had several.
	Streams []Stream `json:"streams,omitempty"`
	// Duet is what the trial decided between two sides; nil where it had none.
	Duet *Duet `json:"duet,omitempty"`
	// Scripts are how the nodes' scripts ended, if the trial had any.
	Scripts []Script `json:"scripts,omitempty"`
}

// ReceivedPPS is the rate at which unique packets were received: what was offered, less what was
// lost. It is nil if packets were offered and none was sent.
func (t *Trial) ReceivedPPS() *float64 {
	rate := 0.0
	switch {
	case t.TxPackets > 0:
		rate = t.OfferedPPS * float64(t.RxPackets) / float64(t.TxPackets)
	case t.OfferedPPS != 0:
		return nil
	}
	return &rate
}

// LossRatio is lost over sent packets; nil if none was sent.
func (t *Trial) LossRatio() *float64 {
	if t.TxPackets == 0 {
		return nil
	}
	ratio := float64(t.LostPackets) / float64(t.TxPackets)
	return &ratio
}

// Verdict says whether to trust a trial.
type Verdict string

// A clean trial ran undisturbed; a noisy one was disturbed, and its reasons say by what; an invalid
// one did not offer its load. An unmeasured one had no load to offer, as one of scripts alone, so there is
// nothing to trust.
const (
	Clean      Verdict = "clean"
	Noisy      Verdict = "noisy"
	Invalid    Verdict = "invalid"
	Unmeasured Verdict = "unmeasured"
)

// Verdicts are all of them, the worst first.
func Verdicts() []Verdict { return []Verdict{Invalid, Noisy, Unmeasured, Clean} }

// Percentiles are nanoseconds. A percentile that the count cannot support (fewer than 1/(1−p)
// samples) is nil, not a guess; with Count 0 all are nil.
type Percentiles struct {
	Min    *int64   `json:"min"`
	Mean   *float64 `json:"mean"`
	P50    *int64   `json:"p50"`
	P90    *int64   `json:"p90"`
	P99    *int64   `json:"p99"`
	P999   *int64   `json:"p99_9"`
	P9999  *int64   `json:"p99_99"`
	P99999 *int64   `json:"p99_999"`
	P6N    *int64   `json:"p99_9999"`
	Max    *int64   `json:"max"`
	Count  uint64   `json:"count"`
}
