package discovery

// Steady holds a change back until it was seen twice. While a cable is plugged in, or a driver sets up one
// virtual function after another, only the final state is reported.
type Steady struct{ told, seen string }

// Offer takes the current state, and reports whether to publish it: the first time, if it has not changed, and
// if it is the same as the last time.
func (s *Steady) Offer(now string) bool {
	if s.told == "" || now == s.told || now == s.seen {
		s.told, s.seen = now, ""
		return true
	}
	s.seen = now
	return false
}
