package stall

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"nines.dev/nines/analysis/attribution"
	"nines.dev/nines/measure/trace"
	"nines.dev/nines/result"
)

// Schema names the JSON format of a Report.
const Schema = "nines/stalls/v1"

// Report is the result of a watch.
type Report struct {
	Schema      string        `json:"schema"`
	Started     time.Time     `json:"started"`
	Elapsed     time.Duration `json:"elapsed_ns"`
	ThresholdNs int64         `json:"threshold_ns"`
	// Kernel is its release, CommandLine its boot command line.
	Kernel      string `json:"kernel,omitempty"`
	CommandLine string `json:"command_line,omitempty"`
	// Subjects are the CPUs, or the threads that were kept from running most.
	Subjects []Subject `json:"subjects"`
	// Others is the number of threads not listed.
	Others int `json:"others,omitempty"`
	// Events is the number of records made, Lost the number that should have been kept but could
	// not be, and CostNs the CPU time of the recorder's programs; nil: unknown.
	Events uint64 `json:"events"`
	Lost   uint64 `json:"lost"`
	CostNs *int64 `json:"cost_ns"`
	// Causes are those of all subjects together.
	Causes []result.RankedCause `json:"causes"`
	Notes  []string             `json:"notes,omitempty"`
	// Folder is the result folder; empty if none was written.
	Folder string `json:"folder,omitempty"`

	recording trace.Recording
	stealNs   int64 // of all recorded CPUs, if the subjects are threads
	startedNs int64 // CLOCK_MONOTONIC
}

// Subject is a CPU or a thread.
type Subject struct {
	Name       string `json:"name"`
	TID        int    `json:"tid"`
	CPU        int    `json:"cpu"` // for a thread: its last
	Scheduling string `json:"scheduling,omitempty"`
	// ElapsedNs is how long it was watched, RanNs how long a thread had a CPU, SleptNs how long it
	// wanted none.
	ElapsedNs int64 `json:"elapsed_ns,omitempty"`
	RanNs     int64 `json:"ran_ns,omitempty"`
	SleptNs   int64 `json:"slept_ns,omitempty"`
	StealNs   int64 `json:"steal_ns,omitempty"`
	// Stalls are all stalls by kind.
	Stalls []Kind `json:"stalls"`
	// Explained is the number of the longest stalls, of at least the threshold, whose events were
	// kept; Causes says what had the CPU, and Shares how much each cause took.
	Explained   int            `json:"explained"`
	ExplainedNs int64          `json:"explained_ns"`
	Shares      []Share        `json:"shares"`
	Causes      *result.Causes `json:"causes"`

	longestNs int64 // of the explained ones
	outliers  []result.Outlier
	lengths   *result.Histogram
	thread    result.TracedThread
}

// Kind is the stalls of one kind.
type Kind struct {
	Kind    string             `json:"kind"`
	TotalNs int64              `json:"total_ns"`
	Lengths result.Percentiles `json:"lengths_ns"`
}

// Share is what a cause took of a subject's explained stalls.
type Share struct {
	Cause  result.Cause `json:"cause"`
	Stalls int          `json:"stalls"`
	Ns     int64        `json:"total_ns"`
	MaxNs  int64        `json:"max_ns"`
}

func kindOf(name string, h *result.Histogram) Kind {
	k := Kind{Kind: name, Lengths: h.Percentiles()}
	if k.Lengths.Mean != nil {
		k.TotalNs = int64(*k.Lengths.Mean * float64(k.Lengths.Count))
	}
	return k
}

// stalled converts a stall for the attribution: a packet that waited to be sent.
func stalled(id uint32, cpu int, beginNs, endNs, startedNs int64) result.Outlier {
	return result.Outlier{ID: id, Stream: 1, LatencyNs: endNs - beginNs, SendLagNs: endNs - beginNs,
		IntendedNs: beginNs - startedNs, TxNs: endNs - startedNs, RxNs: endNs - startedNs, TxCPU: cpu, RxCPU: cpu}
}

// explain finds what had the CPU in each of a subject's stalls, longest first.
func (r *Report) explain(s *Subject) {
	slices.SortStableFunc(s.outliers, func(a, b result.Outlier) int { return cmp.Compare(b.LatencyNs, a.LatencyNs) })
	causes := attribution.Attribute(attribution.Input{Slow: s.outliers, Events: r.recording.Events, Details: r.detailsOf(s)})
	s.Causes = &causes
	s.Shares = []Share{}
	for i := range causes.Packets {
		p := &causes.Packets[i]
		if !p.Recorded {
			continue // nothing recorded does not mean that nothing happened
		}
		s.Explained++
		s.longestNs = max(s.longestNs, p.LatencyNs)
		s.ExplainedNs += p.LatencyNs
		s.outliers[i].Cause = firstOf(*p)
		for _, of := range attribution.Totals(*p) {
			s.share(of)
		}
	}
	slices.SortStableFunc(s.Shares, func(a, b Share) int { return cmp.Compare(b.Ns, a.Ns) })
}

// firstOf is the largest cause of a stall, in brief.
func firstOf(p result.PacketCauses) string {
	if totals := attribution.Totals(p); len(totals) > 0 {
		return attribution.Brief(totals[0].Cause)
	}
	return ""
}

func (s *Subject) share(of result.CauseShare) {
	i := slices.IndexFunc(s.Shares, func(share Share) bool { return share.Cause == of.Cause })
	if i < 0 {
		i = len(s.Shares)
		s.Shares = append(s.Shares, Share{Cause: of.Cause})
	}
	share := &s.Shares[i]
	share.Stalls++
	share.Ns += of.Ns
	share.MaxNs = max(share.MaxNs, of.Ns)
}

// traceOf is the recording as seen by one subject.
func (r *Report) traceOf(s *Subject) result.Trace {
	own := r.recording.Trace
	own.Threads = []result.TracedThread{s.thread}
	own.Slowest = 0 // the subject's stalls are the ones whose events were to be kept
	own.ThresholdNs = r.ThresholdNs
	return own
}

// recorded copies the recorder's statistics.
func (r *Report) recorded(recording trace.Recording) {
	r.recording = recording
	r.Events, r.Lost, r.CostNs = recording.Trace.Events, recording.Trace.Lost, recording.Trace.CostNs
	r.Notes = append(append(r.Notes, recording.Notes...), notRecorded(recording.Trace.Missing)...)
}

// notRecorded returns a note for each reason why tracepoints are missing.
func notRecorded(missing []string) []string {
	var reasons []string
	names := map[string][]string{}
	for _, one := range missing {
		name, reason, _ := strings.Cut(one, ": ")
		if names[reason] == nil {
			reasons = append(reasons, reason)
		}
		names[reason] = append(names[reason], name)
	}
	notes := make([]string, 0, len(reasons))
	for _, reason := range reasons {
		notes = append(notes, strings.TrimSuffix("not recorded: "+strings.Join(names[reason], ", ")+": "+reason, ": "))
	}
	return notes
}

// rank adds up the causes of all subjects.
func (r *Report) rank() {
	r.Causes = []result.RankedCause{}
	for _, s := range r.Subjects {
		for _, ranked := range s.Causes.Ranking {
			i := slices.IndexFunc(r.Causes, func(c result.RankedCause) bool { return c.Cause == ranked.Cause })
			if i < 0 {
				r.Causes = append(r.Causes, ranked)
				continue
			}
			r.Causes[i].Packets += ranked.Packets
			r.Causes[i].Present += ranked.Present
			r.Causes[i].TotalNs += ranked.TotalNs
		}
	}
	slices.SortStableFunc(r.Causes, func(a, b result.RankedCause) int {
		return cmp.Or(cmp.Compare(b.Packets, a.Packets), cmp.Compare(b.TotalNs, a.TotalNs))
	})
}

// Details returns a subject's as trial details, for wording its causes.
func (r *Report) Details(subject int) result.Details { return r.detailsOf(&r.Subjects[subject]) }

func (r *Report) detailsOf(s *Subject) result.Details {
	own := r.traceOf(s)
	return result.Details{StartedNs: r.startedNs, StealNs: r.stealNs + s.StealNs, Trace: &own}
}
