package method

import (
	"context"
	"fmt"
	"math"

	"nines.dev/nines/result"
	"nines.dev/nines/spec"
)

// Search asks a network one question by many trials. The result has the findings,
// the trials, and what departs from the standard; who it belongs to (ID, variables,
// repeat) is the caller's to fill in. With an error of the trial or of the context it
// has what was known until then. A search that gives up, because trials stayed
// invalid, returns no error: its findings say why they have no value.
type Search func(ctx context.Context, trial Trial) (result.Search, error)

// Setting is what a search must know of the network it is run on.
type Setting struct {
	// CeilingPPS is what the generator can send: the rate of a trial at rate 0. It
	// bounds searches whose method has no maximum.
	CeilingPPS float64
	// FrameBytes is the length of the frames, with FCS; 0 if they have none of
	// Ethernet's.
	FrameBytes int
	// LinePPS is the theoretical rate of the links with these frames; 0 for links
	// without one, such as veth, for which the ceiling stands in.
	LinePPS float64
}

// searcher is a kind's options.
type searcher interface {
	Search(ctx context.Context, trial Trial) (result.Search, error)
}

// searches has the options of each kind by what an experiment file asks for. The kinds
// sweep and soak have none: a sweep is no search (see Sweep), and a soak is resumed (see
// Soak).
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

// New is the search that an experiment file asks for.
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
	// minRateShare is the lowest rate of a search as a part of its highest, where the
	// method names none.
	minRateShare = 1e-4
)

// Range is where a search for a rate looks.
type Range struct {
	// MinPPS and MaxPPS bound the rates.
	MinPPS, MaxPPS float64
	// Width ends a search: upper and lower bound differ by at most this part of the
	// upper.
	Width float64
}

// rangeOf is the range that a method asks for.
func rangeOf(m spec.Method, at Setting) (Range, error) {
	r := Range{MinPPS: m.MinRatePPS, MaxPPS: m.MaxRatePPS, Width: m.Width}
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

// isRate is whether something can be sent at this rate.
func isRate(pps float64) bool { return pps > 0 && !math.IsInf(pps, 0) }
