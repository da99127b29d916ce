package result

// PublishedSchema names the form of published.json.
const PublishedSchema = "nines/published/v1"

// PublishedSet is published.json: what others have measured, from the experiment
// file. Nothing of it was measured here.
type PublishedSet struct {
	Schema    string      `json:"schema"`
	Published []Published `json:"published"`
}

// The figures that published points belong to. Rate has received over sent packets
// a second; size the most packets a second over the frame's bytes with FCS; latency
// a percentile in ns over 1/(1-p); load the median latency in ns over the offered
// packets a second; maximum one value of packets a second, x is 0.
const (
	FigureRate    = "rate"
	FigureSize    = "size"
	FigureLatency = "latency"
	FigureLoad    = "load"
	FigureMaximum = "maximum"
)

// Published is a curve of somebody else's.
type Published struct {
	// Source says whose it is: paper, table or figure.
	Source string `json:"source"`
	// Figure is one of the constants above.
	Figure string `json:"figure"`
	// Series names the curve, such as the switch that was measured.
	Series string `json:"series"`
	// Points are [x, y] in the figure's units.
	Points [][2]float64 `json:"points"`
}

// keepPublished passes over what cannot be drawn: a file may come from anybody.
func (r *Result) keepPublished(all []Published) {
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
