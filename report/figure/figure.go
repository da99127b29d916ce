package figure

// Kind says which figure to draw.
type Kind string

// The kinds of figures; docs/figures.md says which figure of which paper each makes.
const (
	HDR        Kind = "hdr"        // latency by percentile
	Histogram  Kind = "histogram"  // packets by latency
	Intervals  Kind = "intervals"  // packets by the time since the one before
	Worst      Kind = "worst"      // the slowest packets by the time they were sent
	Jitter     Kind = "jitter"     // what kept threads and CPUs from running, over time
	Rate       Kind = "rate"       // packets a second over time
	Loss       Kind = "loss"       // loss over the offered rate
	Throughput Kind = "throughput" // received over offered rate, or by frame size
	Latency    Kind = "latency"    // a percentile over the offered rate, or by frame size
)

// Kinds returns all of them.
func Kinds() []Kind {
	return []Kind{HDR, Histogram, Intervals, Worst, Jitter, Rate, Loss, Throughput, Latency}
}

// Figure is what to draw, in the axes' units. It does not depend on sizes, colours or file formats.
type Figure struct {
	Kind   Kind
	Title  string // in the file; papers have captions instead
	X, Y   Axis
	Series []Series
	// Panels are small multiples, all on the same axes, which together have the series; nil: one area has all of them.
	Panels []Panel
	// Guides are thin grey lines for comparison, such as that of no loss.
	Guides [][]Point
	// Categories name the bars' groups; X is then their index.
	Categories []string
	// Sources name the origins of the published series; Series.Source is an index + 1.
	Sources []string
	// Notes are for the caption: what bands and points mean, and what was left out.
	Notes []string
}

// Axis is the x or y axis.
type Axis struct {
	Title    string // with its unit
	Log      bool
	Min, Max float64
	Ticks    []Tick
}

// Tick is a mark of an axis; without a label it is a short one.
type Tick struct {
	At    float64
	Label string
	// Between is a tick beside the regular ones; its label may be left out for theirs.
	Between bool
}

// Point is a point in the axes' units.
type Point struct{ X, Y float64 }

// Range is from the smallest to the largest of repeats at X.
type Range struct{ X, Low, High float64 }

// Shape says how to draw a series.
type Shape int

// Lines join points, with a marker on each or on some; steps hold a value until the
// next point; dots are not joined; bars stand on the axis.
const (
	Lines Shape = iota
	Steps
	Dots
	Bars
)

// Series is a curve.
type Series struct {
	Label string
	// Source is an index into Sources plus one for published points; 0: measured.
	Source int
	Shape  Shape
	// Look chooses colour, dashes and marker together, so that each alone identifies a series.
	// Tone, from 1, chooses the dashes instead, if a look has several lines.
	Look, Tone int
	Points     []Point
	// Marks are the points with a marker; nil for all of them in Lines.
	Marks []Point
	// Ranges are drawn as whiskers, Band as a light area.
	Ranges []Range
	Band   []Range
	// Thin has the individual repeats.
	Thin [][]Point
	of   identity // nothing for published points
}

// extent is the range of everything drawn.
func (f *Figure) extent() (low, high Point, ok bool) {
	add := func(x, y float64) {
		if !ok {
			low, high, ok = Point{x, y}, Point{x, y}, true
			return
		}
		low = Point{min(low.X, x), min(low.Y, y)}
		high = Point{max(high.X, x), max(high.Y, y)}
	}
	for _, s := range f.Series {
		for _, p := range s.Points {
			add(p.X, p.Y)
		}
		for _, list := range [][]Range{s.Ranges, s.Band} {
			for _, r := range list {
				add(r.X, r.Low)
				add(r.X, r.High)
			}
		}
		for _, thin := range s.Thin {
			for _, p := range thin {
				add(p.X, p.Y)
			}
		}
	}
	return low, high, ok
}
