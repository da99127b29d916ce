package result

// Duet is what a trial of two sides, which ran side by side, decided. The figures of the sides are the trial's streams,
// a and b.
type Duet struct {
	// Sides are a and b.
	Sides []DuetSide `json:"sides"`
	// Least is the least difference that matters: the larger of both.
	Least DuetLeast `json:"least"`
	// Beside says how both ran on the one host, in whole sentences without the full stop.
	Beside []string `json:"beside"`
	// Comparisons are of the quantities that were asked about, and then of others; empty where nothing was compared.
	Comparisons []DuetComparison `json:"comparisons"`
	// Open says why nothing was compared; empty where something was.
	Open string `json:"open,omitempty"`
	// TrafficNs is how long packets were sent until the last look, and Looks how many there were.
	TrafficNs int64 `json:"traffic_ns,omitempty"`
	Looks     int   `json:"looks,omitempty"`
}

// DuetSide is what one side was.
type DuetSide struct {
	Name string `json:"name"`
	// Label is what a reader calls the side: the value that differs, such as "veth", where one does.
	Label string `json:"label"`
	// Settings is all that the file sets for it, in words.
	Settings string `json:"settings"`
}

// DuetLeast is the least difference that matters.
type DuetLeast struct {
	Share     float64 `json:"share"`
	LatencyNs int64   `json:"latency_ns"`
}

// DuetComparison is of one quantity.
type DuetComparison struct {
	// Quantity is "p50", "undisturbed p99" or "loss".
	Quantity string `json:"quantity"`
	// Asked is true for what the measurement was to decide; others are told as far as they were decided by then.
	Asked bool `json:"asked"`
	// A and B are the sides' values: nanoseconds, and of a loss a fraction. Nil: not known.
	A *float64 `json:"a"`
	B *float64 `json:"b"`
	// Difference is b − a, and Ratio b / a, each with its interval.
	Difference *Bounded `json:"difference"`
	Ratio      *Bounded `json:"ratio"`
	// Decision is one of the constants; Why says why there is none.
	Decision Decision `json:"decision"`
	Why      string   `json:"why,omitempty"`
	// Remains is what of the interruptions is in an undisturbed percentile all the same, in both sides alike.
	Remains string `json:"remains,omitempty"`
	// NeedsNs is how long packets would have to be sent until it is decided, as far as this tells; 0 where that is not known.
	NeedsNs int64 `json:"needs_ns,omitempty"`
}

// Bounded is a value with its interval.
type Bounded struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Decision is what is known of two sides.
type Decision string

// The decisions.
const (
	ALower    Decision = "a_lower"
	BLower    Decision = "b_lower"
	Same      Decision = "same" // within the least difference that matters
	Undecided Decision = "undecided"
)
