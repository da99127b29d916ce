package expect

// The figures beside percentiles.
const (
	// Loss is the share of the sent packets.
	Loss = "loss"
	// Lost, Duplicates, Reordered, Least and Most are facts about the trials that were made.
	Lost       = "lost"
	Duplicates = "duplicates"
	Reordered  = "reordered"
	Least      = "min"
	Most       = "max"
	// Received is the packets a second that arrived, and Variation how they vary from second to second: the standard
	// deviation of the seconds of a trial, over their mean.
	Received  = "received"
	Variation = "received.variation"
	// Within is the share of intervals that are in a range: of From or longer, and shorter than To.
	Within = "within"
	// Throughput, NDR and PDR are what searches find (docs/methods.md).
	Throughput = "throughput"
	NDR        = "ndr"
	PDR        = "pdr"
)

// Intervals are times from one packet to the next.
type Intervals string

// The intervals, of packets as they arrived and as they were sent.
const (
	ReceivedIntervals Intervals = "interval"
	SentIntervals     Intervals = "sent.interval"
)

// Dimension is what a quantity is counted in.
type Dimension int

// The dimensions.
const (
	Time     Dimension = iota // nanoseconds
	Fraction                  // of the sent packets, of intervals, or of a mean
	Count                     // packets
	Rate                      // packets a second
)

// family is what quantities have in common that can be compared.
type family int

const (
	latencies family = iota
	losses
	counts
	rates
	variations
	intervals
	findings
)

func (q Quantity) family() family {
	switch {
	case q.Intervals != "":
		return intervals
	case q.Searched():
		return findings
	}
	switch q.Figure {
	case Loss:
		return losses
	case Lost, Duplicates, Reordered:
		return counts
	case Received:
		return rates
	case Variation:
		return variations
	}
	return latencies
}

// Dimension of the quantity.
func (q Quantity) Dimension() Dimension {
	switch q.family() {
	case losses, variations:
		return Fraction
	case counts:
		return Count
	case rates, findings:
		return Rate
	case intervals:
		if q.Figure == Within {
			return Fraction
		}
	}
	return Time
}

// IsFact reports whether the quantity is a fact about the trials that were made, without an interval.
func (q Quantity) IsFact() bool {
	return q.Figure == Least || q.Figure == Most || q.family() == counts
}

// Searched reports whether the quantity is what a search found, and not of trials.
func (q Quantity) Searched() bool {
	return q.Figure == Throughput || q.Figure == NDR || q.Figure == PDR
}

// ofTrials reports whether only the trials of a result tell the quantity: neither sides of a duet nor references do.
func (q Quantity) ofTrials() bool {
	switch q.family() {
	case variations, intervals, findings:
		return true
	}
	return false
}

// inTurn reports whether trials in turn tell the ratio of the quantity.
func (q Quantity) inTurn() bool {
	return !q.IsFact() && q.Intervals == "" && q.Figure != Variation
}

// SearchRemedy says which methods look for a figure of searches.
func SearchRemedy(figure string) string {
	if figure == Throughput {
		return "set method: {kind: rfc2544} or {kind: tst009} (docs/methods.md)"
	}
	return "set method: {kind: mlrsearch} (docs/methods.md)"
}
