package result

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Record is everything that one trial leaves behind. The writer sets Trial.ID, and Trial.Latency,
// FromTx and SendLag from the histograms, so that they cannot disagree.
type Record struct {
	Trial      Trial
	Details    Details
	Histograms Histograms
	// Blocks are the latency by time; nil if it is not known when packets arrived.
	Blocks *Blocks
	// Streams are those of a trial with several.
	Streams  []StreamRecord
	Outliers []Outlier
	Rates    []Rate
	// Packets writes packets.parquet, if every packet was recorded.
	Packets *Packets
	// Metrics writes metrics.json, if every packet was recorded or captured.
	Metrics *Metrics
	// Events and Ordinary are the rows of events.parquet and ordinary.csv, if the trial was traced
	// (Details.Trace).
	Events   []Event
	Ordinary []Outlier
	// Interruptions are the rows of interruptions.parquet, if the trial has witnesses (Trial.Interruptions).
	Interruptions []Interruption
	// Causes writes causes.json, if the trial was traced.
	Causes *Causes
	// Pair writes pair.json, if the trial is a pair of captures.
	Pair *Pair
	// EngineLog is the engine's output as text; empty writes no engine.log.
	EngineLog []byte
	// ServicesLog is what the nodes' services have printed since the trial before; empty writes no services.log.
	ServicesLog []byte
}

// When says on which side of the trials a baseline was run.
type When string

// A baseline runs before the first trial and after the last.
const (
	Before When = "before"
	After  When = "after"
)

// BaselineSchema names the format of baselines.json.
const BaselineSchema = "nines/baselines/v1"

// Baselines is baselines.json: the generator back to back with itself, without a network, at the
// trials' rates. They are shown next to the trials, never subtracted: percentiles do not add up.
type Baselines struct {
	Schema    string     `json:"schema"`
	Baselines []Baseline `json:"baselines"`
}

// Baseline is a trial without a network; its ID is a folder below baselines/.
type Baseline struct {
	When When `json:"when"`
	Trial
}

// MaximaSchema names the format of maxima.json.
const MaximaSchema = "nines/maxima/v1"

// Maxima is maxima.json: the trials at rate 0 that found the maxima for the rate fractions of other
// trials. A trial's ID is a folder below maxima/.
type Maxima struct {
	Schema string  `json:"schema"`
	Maxima []Trial `json:"maxima"`
}

// check checks a record against the invariants of a result before it is written.
func (r *Record) check() error {
	t := &r.Trial
	var wrong []error
	if t.TxPackets != t.RxPackets+t.LostPackets {
		wrong = append(wrong, fmt.Errorf("%d packets were sent, but %d received and %d lost do not add up to that",
			t.TxPackets, t.RxPackets, t.LostPackets))
	}
	switch t.Verdict {
	case Clean:
	case Noisy, Invalid, Unmeasured:
		if len(t.Reasons) == 0 {
			wrong = append(wrong, fmt.Errorf("the verdict %s has no reason", t.Verdict))
		}
	default:
		wrong = append(wrong, fmt.Errorf("unknown verdict %q; allowed: clean, noisy, invalid, unmeasured", t.Verdict))
	}
	if t.Repeat < 1 {
		wrong = append(wrong, fmt.Errorf("repeat is %d, but is counted from 1", t.Repeat))
	}
	if tag := r.Histograms.missing(); tag != "" {
		wrong = append(wrong, fmt.Errorf("the histogram %s is missing", tag))
	}
	if m := r.Metrics; m != nil && (m.All.Sent != t.TxPackets || m.All.Received != t.RxPackets) {
		wrong = append(wrong, fmt.Errorf("%d packets were sent and %d received, but the metrics are of %d and %d",
			t.TxPackets, t.RxPackets, m.All.Sent, m.All.Received))
	}
	// Every packet counts: exactly one latency for each received packet.
	if h := r.Histograms.Latency; h != nil && h.Count() != t.RxPackets {
		wrong = append(wrong, fmt.Errorf("%d packets were received, but the latency of %d was recorded", t.RxPackets, h.Count()))
	}
	if r.Blocks != nil && r.Histograms.Latency != nil {
		if blocks := r.Blocks.count(); blocks != r.Histograms.Latency.Count() {
			wrong = append(wrong, fmt.Errorf("the latency of %d packets was recorded, but of %d by time", r.Histograms.Latency.Count(), blocks))
		}
	}
	return errors.Join(append(wrong, r.checkStreams()...)...)
}

// withoutPackets drops the packets, and says so.
func (r *Record) withoutPackets(why string) {
	var kept Recording
	if r.Details.Recording != nil {
		kept = *r.Details.Recording
	}
	kept.Packets, kept.Complete = 0, false
	kept.Problems = append(slices.Clip(kept.Problems), why)
	r.Packets, r.Details.Recording = nil, &kept
	r.Details.Notes = append(slices.Clip(r.Details.Notes), why)
}

// complete fills in what follows from the histograms, and replaces nil lists by empty ones, so that
// JSON has [] and {} instead of null.
func (r *Record) complete(id string) {
	r.Trial.ID = id
	r.Trial.Latency = r.Histograms.Latency.Percentiles()
	r.Trial.FromTx = r.Histograms.FromTx.Percentiles()
	r.Trial.SendLag = r.Histograms.SendLag.Percentiles()
	r.completeStreams()
	if r.Trial.Variables == nil {
		r.Trial.Variables = map[string]any{}
	}
	if r.Trial.Reasons == nil {
		r.Trial.Reasons = []string{}
	}
	if r.Metrics != nil {
		r.Metrics.complete()
	}
	if r.Causes != nil {
		r.Causes.complete()
	}
	if r.Pair != nil {
		r.Pair.complete()
	}
	if r.Details.Gaps == nil {
		r.Details.Gaps = []GapMeter{}
	}
}

// folderName makes a name valid as a folder on any file system: letters, digits, dot, dash and
// underscore, not hidden, and never "latest", the symbolic link in the same folder.
func folderName(name string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '-'
	}, name)
	clean = strings.Trim(clean, ".-")
	if len(clean) > 100 {
		clean = clean[:100]
	}
	switch clean {
	case "":
		return "unnamed"
	case "latest":
		return "latest_"
	}
	return clean
}
