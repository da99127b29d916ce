package analyze

import "nines.dev/nines/analyze/packetfile"

// A capture's times are in steps, and cut off to them. If both have the same steps, a difference of
// two of them is right on average, and wrong by less than a step. If one has longer steps, the
// other's times have to be cut off alike: else each latency is half a step too small or too large.

// tickNs is the longest step of a file's times by its own account.
func tickNs(info packetfile.Info) int64 {
	coarse := info.Resolution
	for _, i := range info.Interfaces {
		coarse = min(coarse, i.Resolution)
	}
	if coarse == 0 || coarse >= packetfile.Nanoseconds {
		return 1
	}
	return int64((packetfile.Nanoseconds + coarse - 1) / coarse)
}

// evenTicks cuts the times of the capture with the shorter steps off to those of the other, and
// returns the longer step.
func (a *Analysis) evenTicks() int64 {
	pre, post := tickNs(a.whole[0].reader.Info()), tickNs(a.whole[1].reader.Info())
	// POST's steps are counted from 1970, and its times shifted.
	switch shift := a.Options.Offset.Nanoseconds(); {
	case pre < post:
		a.whole[0].cutTimes(post, shift)
	case post < pre:
		a.whole[1].cutTimes(pre, 0)
	}
	return max(pre, post)
}

// cutTimes rounds all times down to a multiple of a step, and a shift.
func (s *side) cutTimes(tick, shift int64) {
	s.cut = func(ns int64) int64 {
		over := (ns - shift) % tick
		if over < 0 {
			over += tick
		}
		return ns - over
	}
	times := s.timesNs()
	for i, ns := range times {
		times[i] = s.cut(ns)
	}
}

// timeOf is the time that a packet of the file has here.
func (s *side) timeOf(p *packetfile.Packet) int64 {
	ns := p.TimeNs + s.offsetNs
	if s.cut != nil {
		ns = s.cut(ns)
	}
	return ns
}
