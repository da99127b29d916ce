package spec

import "time"

// Method is how the trials are chosen: a plain sweep, or a search by a standard's procedure, once
// for each combination of the sweep and repeat.
type Method struct {
	// Kind is the procedure (default sweep).
	Kind MethodKind `yaml:"kind,omitempty" json:"kind,omitempty"`
	// Quick shortens the standard's durations; the result is then marked as not conformant.
	Quick bool `yaml:"quick,omitempty" json:"quick,omitempty"`
	// MinRatePPS is the lowest rate of a search, in packets a second (default a ten-thousandth of
	// the highest rate).
	MinRatePPS float64 `yaml:"min_rate_pps,omitempty" json:"min_rate_pps,omitempty"`
	// MaxRatePPS is the highest rate of a search, in packets a second. Without it, a trial at rate
	// 0 finds what the generator can send.
	MaxRatePPS float64 `yaml:"max_rate_pps,omitempty" json:"max_rate_pps,omitempty"`
	// Width is the relative width at which a search ends (default 0.005).
	Width float64 `yaml:"width,omitempty" json:"width,omitempty"`
	// Trial replaces the duration of the final trials.
	Trial Duration `yaml:"trial,omitempty" json:"trial,omitempty"`
	// Settle replaces the pause between trials.
	Settle Duration `yaml:"settle,omitempty" json:"settle,omitempty"`
	// Loads are the fractions of the result at which the latency is measured
	// afterwards (default 0.1, 0.5, 0.9, 1).
	Loads []float64 `yaml:"loads,omitempty" json:"loads,omitempty"`
	// Tests are the tests of rfc2544 (default all): throughput, latency, frame_loss,
	// back_to_back.
	Tests []RFC2544Test `yaml:"tests,omitempty" json:"tests,omitempty"`
	// Retries is how often tst009 tries a lossy rate again (default 1; 0 is never).
	Retries *int `yaml:"retries,omitempty" json:"retries,omitempty"`
	// LossRatio is the loss above which tst009 does not try a rate again (default no bound).
	LossRatio *float64 `yaml:"loss_ratio,omitempty" json:"loss_ratio,omitempty"`
	// Goals are the goals of mlrsearch: presets by name (ndr, pdr, rfc2544, tst009), or values.
	Goals []*Goal `yaml:"goals,omitempty" json:"goals,omitempty"`
	// CommittedPPS is the rate that y1564's service promises, in packets a second.
	CommittedPPS float64 `yaml:"committed_pps,omitempty" json:"committed_pps,omitempty"`
	// ExcessPPS is the rate beyond that which y1564's service accepts without a promise.
	ExcessPPS float64 `yaml:"excess_pps,omitempty" json:"excess_pps,omitempty"`
	// Soak is the length of the second part of y1564 (default 15m), or of the method soak (default
	// 12h).
	Soak Duration `yaml:"soak,omitempty" json:"soak,omitempty"`
	// Window is the time that each of soak's histograms covers (default 1m).
	Window Duration `yaml:"window,omitempty" json:"window,omitempty"`
	// Limits are what y1564 and soak judge by.
	Limits *Limits `yaml:"limits,omitempty" json:"limits,omitempty"`
}

// DefaultSoak is the default length of a soak: that of the evaluations it reproduces.
const DefaultSoak = Duration(12 * time.Hour)

// RFC2544Test is a test of RFC 2544.
type RFC2544Test string

// The tests: sections 26.1, 26.2, 26.3 and 26.4.
const (
	TestThroughput RFC2544Test = "throughput"
	TestLatency    RFC2544Test = "latency"
	TestFrameLoss  RFC2544Test = "frame_loss"
	TestBackToBack RFC2544Test = "back_to_back"
)

// Goal is a search goal of mlrsearch. A preset gives the values that are not set.
type Goal struct {
	// Name is a preset (ndr, pdr, rfc2544, tst009) or any other name.
	Name string `yaml:"name" json:"name"`
	// LossRatio is the most loss of a good trial, 0 to 1.
	LossRatio *float64 `yaml:"loss_ratio,omitempty" json:"loss_ratio,omitempty"`
	// ExceedRatio is the part of the time in which trials may lose more.
	ExceedRatio *float64 `yaml:"exceed_ratio,omitempty" json:"exceed_ratio,omitempty"`
	// FinalTrial is the length of a trial that counts in full.
	FinalTrial Duration `yaml:"final_trial,omitempty" json:"final_trial,omitempty"`
	// DurationSum is how long a rate must be measured before it is decided.
	DurationSum Duration `yaml:"duration_sum,omitempty" json:"duration_sum,omitempty"`
	// Width is the relative width at which the goal is reached.
	Width float64 `yaml:"width,omitempty" json:"width,omitempty"`
}

// Limits are what a service must keep to pass; absent limits are not judged.
type Limits struct {
	// LossRatio is the most loss, 0 to 1.
	LossRatio *float64 `yaml:"loss_ratio,omitempty" json:"loss_ratio,omitempty"`
	// Latency is the highest latency at Percentile.
	Latency Duration `yaml:"latency,omitempty" json:"latency,omitempty"`
	// Percentile is where latency and variation are judged (default 99.9).
	Percentile float64 `yaml:"percentile,omitempty" json:"percentile,omitempty"`
	// Variation is the highest delay variation: the latency at Percentile less the minimum.
	Variation Duration `yaml:"variation,omitempty" json:"variation,omitempty"`
}
