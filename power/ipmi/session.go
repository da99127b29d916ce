package ipmi

import (
	"time"

	"github.com/bougou/go-ipmi/pkg/bmc"
)

// The limits of sessions of one port.
const (
	// mostPending are the sessions that are opened and not confirmed yet, of all sources, and
	// mostPendingOf those of one: a source that opens more loses its own oldest. With mostActive they stay
	// below 254, as go-ipmi gives each a handle of one byte, and looks for a free one without end.
	mostPending   = 200
	mostPendingOf = 4
	// pendingFor is how long a session may stay unconfirmed: three messages each way.
	pendingFor = 10 * time.Second
	// mostActive are the sessions of those who had the password; the one that was quiet longest goes.
	mostActive = 16
)

// The handles of all sessions are apart: this does not compile if they are too many.
const _ = uint(253 - mostPending - mostActive)

// session is what we know about a session beside go-ipmi.
type session struct {
	source string
	active bool
	// hashed is true once the client has got a hash of the password.
	hashed bool
	// order is the place of its last use among those of all sessions.
	order uint64
	// seen is when it was opened, confirmed or last used.
	seen time.Time
	// number is the highest that a packet had, last that packet and answer the answer: a client that has
	// lost an answer sends its packet again.
	number       uint32
	last, answer []byte
	// request and reply are the last command that switches, and its answer; a client may also send it
	// again in another packet.
	request, reply []byte
}

// sessions bounds the sessions of a port. Only the goroutine of the port uses it.
type sessions struct {
	store *bmc.SessionStore
	known map[uint32]*session
	uses  uint64
	// next is when to look again for sessions that were quiet for too long.
	next time.Time
}

// expireEvery is how often that is: a look takes longer than a packet.
const expireEvery = time.Second

func newSessions(store *bmc.SessionStore) sessions {
	return sessions{store: store, known: map[uint32]*session{}}
}

// of is a session that a source has opened; nil for any other.
func (s *sessions) of(id uint32, source string) *session {
	if known := s.known[id]; known != nil && known.source == source {
		return known
	}
	return nil
}

func (s *sessions) add(id uint32, source string, now time.Time) {
	s.known[id] = &session{source: source}
	s.use(s.known[id], now)
}

// use notes that a session's client has done what it should.
func (s *sessions) use(known *session, now time.Time) {
	s.uses++
	known.order, known.seen = s.uses, now
}

func (s *sessions) end(id uint32) {
	delete(s.known, id)
	_ = s.store.Close(id) // one that is gone already is what is wanted
}

// giveUp ends a session that was not confirmed in time, or one of too many. A client that took the hash of
// the password and never came back had another password, or collects hashes: guessed is called with its
// source.
func (s *sessions) giveUp(id uint32, guessed func(source string)) {
	if known := s.known[id]; known != nil && !known.active && known.hashed {
		guessed(known.source)
	}
	s.end(id)
}

// makeRoom gives up what is in the way of one more session of a source: its own oldest, or the oldest of
// those sources that have most.
func (s *sessions) makeRoom(source string, guessed func(source string)) {
	pending := map[string]int{}
	all, most := 0, 0
	for _, known := range s.known {
		if !known.active {
			all++
			pending[known.source]++
			most = max(most, pending[known.source])
		}
	}
	switch {
	case pending[source] >= mostPendingOf:
		s.giveUp(s.oldest(func(known *session) bool { return !known.active && known.source == source }), guessed)
	case all >= mostPending:
		s.giveUp(s.oldest(func(known *session) bool { return !known.active && pending[known.source] == most }), guessed)
	}
}

// confirm notes that a session's client has the password.
func (s *sessions) confirm(id uint32, now time.Time) {
	confirmed := s.known[id]
	confirmed.active = true
	s.use(confirmed, now)
	active := 0
	for _, known := range s.known {
		if known.active {
			active++
		}
	}
	if active > mostActive {
		s.end(s.oldest(func(known *session) bool { return known.active && known != confirmed }))
	}
}

// oldest is the one of some sessions whose last use is longest ago; 0 if there is none.
func (s *sessions) oldest(of func(*session) bool) uint32 {
	var oldest uint32
	for id, known := range s.known {
		if of(known) && (oldest == 0 || known.order < s.known[oldest].order) {
			oldest = id
		}
	}
	return oldest
}

// expire ends the sessions that were quiet for too long.
func (s *sessions) expire(now time.Time, guessed func(source string)) {
	if now.Before(s.next) {
		return
	}
	s.next = now.Add(expireEvery)
	for id, known := range s.known {
		quiet, most := now.Sub(known.seen), pendingFor
		if known.active {
			most = bmc.DefaultInactivityTimeout
		}
		if quiet > most {
			s.giveUp(id, guessed)
		}
	}
}
