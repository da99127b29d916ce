package explain

import (
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// Recorder is what the recorder of a trial saw, lost and cost.
type Recorder struct {
	// Events is the number of records that its programs made, and Kept the number of events in the
	// result: one record may become several. LostEvents of Shown are missing.
	Events uint64 `json:"events"`
	Kept   uint64 `json:"kept"`
	// CostNs is the CPU time of its programs on all CPUs; Share is the same as a fraction of one
	// CPU, and PacketNs per packet, at the rate of the measured ones. Nil: the kernel did not count
	// it, or the duration is unknown.
	CostNs   *int64   `json:"cost_ns"`
	Share    *float64 `json:"cpu_share"`
	PacketNs *float64 `json:"packet_ns"`
	// Against is what tracing changed, compared with the same trials without it; nil if the result
	// has none.
	Against *result.Traced `json:"against"`

	alone  bool // the recording is not an experiment's trial
	unlike bool // part of a search, at a rate that no other trial has
}

// RecorderOf collects what a trial's files say about its recorder, and the comparable trials of its
// result (result.Shown). It compares the trial in its form among those, with its load as a
// variable.
func RecorderOf(details result.Details, trial result.Trial, shown []result.Trial) Recorder {
	at := slices.IndexFunc(shown, func(t result.Trial) bool { return t.ID == trial.ID })
	if at >= 0 {
		trial = shown[at]
	}
	trace := details.Trace
	r := Recorder{Events: trace.Events, Kept: trace.Kept, CostNs: trace.CostNs, alone: alone(trace), unlike: at < 0 && trial.Search != ""}
	if trace.CostNs != nil && trace.ElapsedNs > 0 {
		share := float64(*trace.CostNs) / float64(trace.ElapsedNs)
		r.Share = &share
		if trial.TxPackets > 0 && details.DurationNs > 0 && !r.alone {
			each := share * float64(details.DurationNs) / float64(trial.TxPackets)
			r.PacketNs = &each
		}
	}
	for _, one := range result.TracedAgainstNot(shown) {
		if one.Of(trial) {
			r.Against = &one
		}
	}
	return r
}

// words describes what the recorder cost.
func (r Recorder) words(lost uint64) string {
	text := r.took(lost)
	if r.alone || r.unlike {
		return text
	}
	return text + " " + against(r.Against)
}

func (r Recorder) took(lost uint64) string {
	text := fmt.Sprintf("The recorder made %s, and lost ", terminal.Count(int(r.Events), "record"))
	if lost == 0 {
		text += "none that should have been kept."
	} else {
		text += fmt.Sprintf("%d that should have been kept.", lost)
	}
	if r.CostNs == nil {
		return text + " The CPU time of its programs is unknown: this kernel does not count it."
	}
	text += " Its programs used about " + terminal.Duration(*r.CostNs) + " of CPU time on all CPUs together"
	if r.Share != nil {
		text += fmt.Sprintf(", %s %% of one CPU", terminal.Digits(100**r.Share, 3))
	}
	if r.PacketNs != nil {
		text += fmt.Sprintf(", %s for each packet", terminal.Duration(int64(*r.PacketNs)))
	}
	return text + "."
}

// enough is the number of repeats from which a median has a 95 % interval (see the table of nines
// run).
const enough = 6

// against describes what tracing changed, or how to measure that.
func against(t *result.Traced) string {
	if t == nil {
		return "Its effect on latency was not measured: use `sweep: {trace: [false, true]}`."
	}
	var figures []string
	for _, f := range t.Figures {
		name, on, off := "received", fmt.Sprintf("%.0f", f.On), fmt.Sprintf("%.0f pps", f.Off)
		if latency, is := strings.CutPrefix(f.Name, "latency_"); is {
			name, on, off = strings.TrimSuffix(latency, "_ns"), terminal.Duration(int64(f.On)), terminal.Duration(int64(f.Off))
		}
		figures = append(figures, fmt.Sprintf("%s %s against %s (×%s)", name, on, off, terminal.Digits(f.Ratio, 3)))
	}
	text := fmt.Sprintf("With tracing against without, medians of %d and %s: %s", t.On, terminal.Count(t.Off, "trial"), strings.Join(figures, ", "))
	if min(t.On, t.Off) < enough {
		text += fmt.Sprintf("; `repeat: %d` or more distinguishes this from the host's own changes", enough)
	}
	return text + "."
}
