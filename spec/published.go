package spec

// Published are points of another measurement, drawn over our own.
type Published struct {
	// Source says where they are from: paper, table or figure.
	Source string `yaml:"source" json:"source"`
	// Figure is the figure of the report that they belong to.
	Figure Figure `yaml:"figure" json:"figure"`
	// Series names the curve, such as the switch that was measured.
	Series string `yaml:"series" json:"series"`
	// Points are [x, y] in the figure's units.
	Points [][]float64 `yaml:"points" json:"points"`
}

// Figure is a figure of the report.
type Figure string

// The figures: FigureRate has the received over the sent packets a second,
// FigureSize the most packets a second over the frame's bytes (with FCS),
// FigureLatency the latency's percentile in ns over 1/(1-p), FigureLoad the median
// latency in ns over the offered packets a second, FigureMaximum one value of
// packets a second for each series (x is 0).
const (
	FigureRate    Figure = "rate"
	FigureSize    Figure = "size"
	FigureLatency Figure = "latency"
	FigureLoad    Figure = "load"
	FigureMaximum Figure = "maximum"
)
