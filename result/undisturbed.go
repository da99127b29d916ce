package result

// Undisturbed is what the latencies of a trial would be if nothing had interrupted the CPUs on the packets' path
// (docs/statistics.md). latency.hlog has its distribution, with the tag undisturbed.
type Undisturbed struct {
	// Share is the share of the sent packets that no interruption touched. Packets is how many of these were received:
	// what the percentiles rest on.
	Share   float64 `json:"share"`
	Packets uint64  `json:"packets"`
	// Refused says why nothing is known; empty if something is.
	Refused string `json:"refused,omitempty"`
	// Assumed is what is taken for granted beyond the method.
	Assumed []string `json:"assumed"`
	// Percentiles are those of NamedPercentiles; none if refused.
	Percentiles []UndisturbedPercentile `json:"percentiles"`
	// HoldTo is the percentile up to which the measured latencies are within a tenth of these, 97 for p97; 0 if not even
	// p50 is.
	HoldTo float64 `json:"hold_to"`
}

// UndisturbedPercentile is a percentile with its 95 % interval.
type UndisturbedPercentile struct {
	Name string `json:"name"` // "p99_9"
	// ValueNs is nil if it is not known, and Open says why.
	ValueNs *int64 `json:"value_ns"`
	LowNs   *int64 `json:"low_ns"`
	HighNs  *int64 `json:"high_ns"` // nil: open, as too few independent packets lie beyond
	Open    string `json:"open,omitempty"`
}

// Percentile returns one by its name; nil if it is not known.
func (u *Undisturbed) Percentile(name string) *UndisturbedPercentile {
	if u == nil {
		return nil
	}
	for i := range u.Percentiles {
		if p := &u.Percentiles[i]; p.Name == name && p.ValueNs != nil {
			return p
		}
	}
	return nil
}
