package result

// PublishedSchema names the format of published.json.
const PublishedSchema = "nines/published/v1"

// PublishedSet is published.json: published measurements from the experiment file. Nothing in it
// was measured here.
type PublishedSet struct {
	Schema    string      `json:"schema"`
	Published []Published `json:"published"`
}

// The figures of published points. Rate is received over sent packets a second; size the maximum
// packets a second over the frame's bytes with FCS; latency a percentile in ns over 1/(1-p); load
// the median latency in ns over the offered packets a second; maximum one value of packets a
// second, with x 0.
const (
	FigureRate    = "rate"
	FigureSize    = "size"
	FigureLatency = "latency"
	FigureLoad    = "load"
	FigureMaximum = "maximum"
)

// Published is a published curve.
type Published struct {
	// Source names its origin: paper, table or figure.
	Source string `json:"source"`
	// Figure is one of the constants above.
	Figure string `json:"figure"`
	// Series names the curve, such as the measured switch.
	Series string `json:"series"`
	// Points are [x, y] in the figure's units.
	Points [][2]float64 `json:"points"`
}

// maxPublished is the most published curves of a result that are kept: each is compared with every
// series of each figure.
const maxPublished = 1000

// keepPublished skips what cannot be drawn: a file may come from anyone.
func (r *Result) keepPublished(all []Published) {
	if len(all) > maxPublished {
		r.problem("%s: of its %d curves the first %d are read", PublishedFile, len(all), maxPublished)
		all = all[:maxPublished]
	}
	for _, p := range all {
		switch p.Figure {
		case FigureRate, FigureSize, FigureLatency, FigureLoad, FigureMaximum:
		default:
			r.problem("%s: the figure %q of the series %q is not known", PublishedFile, p.Figure, p.Series)
			continue
		}
		drawable := p.Points[:0:0]
		for _, point := range p.Points {
			if point[0] >= 0 && point[1] >= 0 {
				drawable = append(drawable, point)
			}
		}
		if len(drawable) < len(p.Points) {
			r.problem("%s: points of the series %q are negative", PublishedFile, p.Series)
		}
		if p.Points = drawable; len(drawable) > 0 {
			r.Published = append(r.Published, p)
		}
	}
}
