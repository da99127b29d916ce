package discovery

// Steady holds a change back until it was seen twice. A cable that is being plugged in, or a driver
// that sets up one virtual function after the other, is told once, as it is in the end.
type Steady struct{ told, seen string }

// Offer takes what is so now, and tells whether to tell it: at first, when it has not changed, and
// when it is as it was the last time.
func (s *Steady) Offer(now string) bool {
	if s.told == "" || now == s.told || now == s.seen {
		s.told, s.seen = now, ""
		return true
	}
	s.seen = now
	return false
}
