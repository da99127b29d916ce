package analyze

import (
	"fmt"

	"nines.dev/nines/analyze/clock"
)

// clocksSay explains to people what is known about the two clocks.
func (a *Analysis) clocksSay() []string {
	say := a.Clocks.Sentences()
	switch o := a.Offset; {
	case o == nil:
	case o.BoundNs < 0:
		say[0] = fmt.Sprintf("the clocks cannot have had the same offset all the time: by the fastest packets of both directions it changed by at least %v", duration(-2*o.BoundNs))
	default:
		say[0] = fmt.Sprintf("%s, by the fastest packets of both directions; --offset %v removes it if they take equally long", aheadSays(o), a.offsetAdvice(-o.AheadNs))
	}
	return say
}

// aheadSays says how far the second clock is ahead.
func aheadSays(o *clock.Offset) string {
	where := "ahead of"
	if o.AheadNs < 0 {
		where = "behind"
	}
	return fmt.Sprintf("the second capture's clock is %s the first's by %v ± %v", where, duration(max(o.AheadNs, -o.AheadNs)), duration(o.BoundNs))
}

// shiftedSays explains clocks further apart than the packets take.
func (a *Analysis) shiftedSays() string {
	where := "later"
	if a.shifted.AheadNs < 0 {
		where = "earlier"
	}
	return fmt.Sprintf("packets in both directions between the same hosts are %s in %s than in %s: if they cross on the way, %s, and --offset %v removes that",
		where, a.Post.Path, a.Pre.Path, aheadSays(a.shifted), a.offsetAdvice(-a.shifted.AheadNs))
}
