package duet

import "math"

// mostLooks bounds how often a trial is looked at before its end: each look costs certainty.
const mostLooks = 10

// firstLookNs is the earliest. It has 50 blocks, from which a bootstrap tells something.
const firstLookNs = 50 * blockNs

// spent is the part of the chance of a wrong decision that a look spends, of as many as are planned: half of it at the last,
// which has the most packets for what is hard to decide, and the rest at the others alike.
func spent(look, planned int) float64 {
	switch {
	case planned == 1:
		return 1
	case look >= planned:
		return 0.5
	}
	return 0.5 / float64(planned-1)
}

// Looks returns when a trial is looked at: each time after a third more time or so, the last time at its end, so that a
// clear difference is decided soon.
func (o Options) Looks() []int64 {
	o = o.withDefaults()
	const first = float64(firstLookNs)
	step := max(math.Pow(float64(o.LengthNs)/first, 1.0/(mostLooks-1)), 1)
	var looks []int64
	for i := range mostLooks {
		at := int64(first*math.Pow(step, float64(i))) / blockNs * blockNs
		if i == mostLooks-1 {
			at = o.LengthNs
		}
		if at >= o.LengthNs {
			looks = append(looks, o.LengthNs)
			break
		}
		if len(looks) == 0 || at > looks[len(looks)-1] {
			looks = append(looks, at)
		}
	}
	return looks
}
