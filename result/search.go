package result

// SearchesSchema names the form of searches.json.
const SearchesSchema = "nines/searches/v1"

// Searches is searches.json: what search methods found, one record for each
// combination of the swept variables and repeat. Their trials are in the summary.
type Searches struct {
	Schema   string   `json:"schema"`
	Searches []Search `json:"searches"`
}

// Search is the outcome of one search.
type Search struct {
	ID        string         `json:"id"` // "0001"
	Variables map[string]any `json:"variables"`
	Repeat    int            `json:"repeat"` // counted from 1
	// Method is the method's kind: "mlrsearch", "rfc2544".
	Method string `json:"method"`
	// Conformant is true if the standard's conditions were held; Deviations says which
	// were not, and why.
	Conformant bool     `json:"conformant"`
	Deviations []string `json:"deviations"`
	// Passed is set by methods that judge (y1564, soak with limits).
	Passed *bool `json:"passed,omitempty"`
	// Findings are the figures that the search set out to find.
	Findings []Finding `json:"findings"`
	// Trials are the IDs of its trials, in order, each with its purpose.
	Trials []SearchTrial `json:"trials"`
	// MeasuringNs is the sum of the trials' times as a whole.
	MeasuringNs int64 `json:"measuring_ns"`
}

// SearchTrial is a trial as a part of a search.
type SearchTrial struct {
	ID      string `json:"id"`
	Purpose string `json:"purpose"`
	// RatePPS is the intended rate, LossRatio the part of the intended packets that did
	// not arrive.
	RatePPS    float64 `json:"rate_pps"`
	DurationNs int64   `json:"duration_ns"`
	LossRatio  float64 `json:"loss_ratio"`
}

// Finding is one figure that a search found.
type Finding struct {
	// Name is the standard's: "NDR", "throughput", "back-to-back", "PDV".
	Name string `json:"name"`
	// Unit is "packets/s", "packets", "ns" or "ratio".
	Unit string `json:"unit"`
	// Value is nil where the search found none, and Reason says why.
	Value *float64 `json:"value"`
	// Low and High bound the value: a search's last lower and upper bound, or the
	// confidence interval of repeats.
	Low  *float64 `json:"low,omitempty"`
	High *float64 `json:"high,omitempty"`
	// Limit is what the value had to keep; Passed says whether it did.
	Limit  *float64 `json:"limit,omitempty"`
	Passed *bool    `json:"passed,omitempty"`
	Reason string   `json:"reason,omitempty"`
	// Conditions are what the figure was found under, such as {"load": 0.5,
	// "frame_bytes": 64}.
	Conditions map[string]any `json:"conditions,omitempty"`
	// Trial is the trial that shows it, if one does.
	Trial string `json:"trial,omitempty"`
}
