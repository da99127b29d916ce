package method

import (
	"context"
	"fmt"
	"math"

	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// Search answers one question about a network with many trials. The result has the findings, the
// trials, and the deviations from the standard; the caller fills in ID, variables and repeat. With
// an error of the trial or of the context it holds what was known until then. A search that gives
// up because trials stay invalid returns no error: its findings say why they have no value.
type Search func(ctx context.Context, trial Trial) (result.Search, error)

// Setting is what a search must know about the network.
type Setting struct {
	// CeilingPPS is what the generator can send: the rate of a trial at rate 0. It limits searches
	// whose method has no maximum.
	CeilingPPS float64
	// FrameBytes is the frame length with FCS; 0 for frames that are not Ethernet's.
	FrameBytes int
	// LinePPS is the theoretical rate of the links with these frames; 0 for links without one, such
	// as veth, where the ceiling stands in.
	LinePPS float64
}

// searcher is the options of a kind of search.
type searcher interface {
	Search(ctx context.Context, trial Trial) (result.Search, error)
}

// searches returns the options of each kind for an experiment file. The kinds sweep and soak have
// none: a sweep is no search (see Sweep), and a soak is resumed (see Soak).
var searches = map[spec.MethodKind]func(spec.Method, Setting) (searcher, error){
	spec.MethodRFC2544:   by(RFC2544Of),
	spec.MethodRFC8219:   by(RFC8219Of),
	spec.MethodTST009:    by(TST009Of),
	spec.MethodMLRsearch: by(MLRsearchOf),
	spec.MethodY1564:     by(Y1564Of),
}

func by[S searcher](of func(spec.Method, Setting) (S, error)) func(spec.Method, Setting) (searcher, error) {
	return func(m spec.Method, at Setting) (searcher, error) { return of(m, at) }
}

// New makes the search that an experiment file asks for.
func New(m spec.Method, at Setting) (Search, error) {
	of := searches[m.Kind]
	if of == nil {
		return nil, fmt.Errorf("method: the kind %q has no search", m.Kind)
	}
	options, err := of(m, at)
	if err != nil {
		return nil, err
	}
	return options.Search, nil
}

// The defaults of searches for a rate.
const (
	// DefaultWidth is fd.io CSIT's relative width of a result.
	DefaultWidth = 0.005
	// minRateShare is the lowest rate of a search as a fraction of its highest, if the method names
	// none.
	minRateShare = 1e-4
)

// Range is the rates that a search covers.
type Range struct {
	// MinPPS and MaxPPS bound the rates.
	MinPPS, MaxPPS float64
	// Width ends a search: upper and lower bound differ by at most this fraction of the upper.
	Width float64
	// LinePPS is the theoretical rate of the links, above which nothing is to be found; 0 without one.
	LinePPS float64
}

// rangeOf is the range that a method asks for.
func rangeOf(m spec.Method, at Setting) (Range, error) {
	r := Range{MinPPS: m.MinRatePPS, MaxPPS: m.MaxRatePPS, Width: m.Width, LinePPS: at.LinePPS}
	if r.MaxPPS == 0 {
		r.MaxPPS = at.CeilingPPS
	}
	if r.MinPPS == 0 {
		r.MinPPS = max(min(1, r.MaxPPS/2), r.MaxPPS*minRateShare)
	}
	if r.Width == 0 {
		r.Width = DefaultWidth
	}
	return r, r.check()
}

// open reports whether there are rates above the range that a network could forward.
func (r Range) open() bool {
	return r.LinePPS == 0 || r.MaxPPS < r.LinePPS*(1-lineSlack)
}

// check says what is wrong with a range.
func (r Range) check() error {
	switch {
	case !isRate(r.MaxPPS):
		return fmt.Errorf("method: a search needs a highest rate above 0, not %g packets/s: set max_rate_pps", r.MaxPPS)
	case !isRate(r.MinPPS) || r.MinPPS > r.MaxPPS:
		return fmt.Errorf("method: the lowest rate, %g packets/s, is not between 0 and the highest, %g: change min_rate_pps", r.MinPPS, r.MaxPPS)
	case !(r.Width > 0 && r.Width < 1):
		return fmt.Errorf("method: a search ends at a relative width between 0 and 1, not %g", r.Width)
	}
	return nil
}

// isRate reports whether this is a rate that can be sent.
func isRate(pps float64) bool { return pps > 0 && !math.IsInf(pps, 0) }
