package redfish

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"nines.dev/nines/power"
)

// The limits of sessions. Only who has the password begins one; the one that was quiet longest goes.
const (
	mostSessions    = 64
	sessionPatience = 30 * time.Minute
)

// session is kept by the hash of its token.
type session struct {
	id   string
	user string
	seen time.Time
}

type sessions struct {
	mu    sync.Mutex
	known map[string]session
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return string(sum[:])
}

// begin returns a new session and its token.
func (s *sessions) begin(user string, now time.Time) (session, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(now)
	for len(s.known) >= mostSessions {
		oldest := ""
		for key, one := range s.known {
			if oldest == "" || one.seen.Before(s.known[oldest].seen) {
				oldest = key
			}
		}
		delete(s.known, oldest)
	}
	random := make([]byte, 24)
	_, _ = rand.Read(random) // never fails, crypto/rand
	token := hex.EncodeToString(random[:16])
	begun := session{id: hex.EncodeToString(random[16:]), user: user, seen: now}
	s.known[hashOf(token)] = begun
	return begun, token
}

func (s *sessions) expire(now time.Time) {
	for key, one := range s.known {
		if now.Sub(one.seen) > sessionPatience {
			delete(s.known, key)
		}
	}
}

// has is true for the token of a session; it keeps the session alive.
func (s *sessions) has(token string, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(now)
	key := hashOf(token)
	one, has := s.known[key]
	if has {
		one.seen = now
		s.known[key] = one
	}
	return has
}

// end is false if there is no session with that id.
func (s *sessions) end(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, one := range s.known {
		if one.id == id {
			delete(s.known, key)
			return true
		}
	}
	return false
}

func (s *sessions) list(now time.Time) []session {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire(now)
	var all []session
	for _, one := range s.known {
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b session) int {
		if a.id < b.id {
			return -1
		}
		return 1
	})
	return all
}

// sourceOf is who has sent a request, as power.Source names it.
func sourceOf(r *http.Request) string {
	client, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	own, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	return power.Source(net.TCPAddrFromAddrPort(client), own)
}

// known lets a handler see only requests with a session's token or the password.
func (s *service) known(handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if token := r.Header.Get("X-Auth-Token"); token != "" {
			// A token has 128 random bits: nobody guesses one.
			if !s.sessions.has(token, s.now()) {
				fail(w, http.StatusUnauthorized, "NoValidSession", "the session has ended; open another")
				return
			}
			handle(w, r)
			return
		}
		user, password, given := r.BasicAuth()
		if !given {
			w.Header().Set("WWW-Authenticate", `Basic realm="nines"`)
			fail(w, http.StatusUnauthorized, "NoValidSession", "log in with a session or with basic authentication")
			return
		}
		if s.right(w, r, user, password) {
			handle(w, r)
		}
	}
}

// right is true for the user's name and password; others are answered, counted and slowed down.
func (s *service) right(w http.ResponseWriter, r *http.Request, user, password string) bool {
	// Hashes have one length, so the time tells nothing of the right one.
	sameUser := subtle.ConstantTimeCompare([]byte(hashOf(user)), []byte(hashOf(s.User)))
	samePassword := subtle.ConstantTimeCompare([]byte(hashOf(password)), []byte(hashOf(s.Password)))
	right := sameUser&samePassword == 1
	if wait := s.Guard.Try(sourceOf(r), s.now(), right); wait > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(int(wait/time.Second)+1))
		fail(w, http.StatusTooManyRequests, "SessionLimitExceeded", "too many wrong passwords from this address or user; wait, and try again")
		return false
	}
	if !right {
		w.Header().Set("WWW-Authenticate", `Basic realm="nines"`)
		fail(w, http.StatusUnauthorized, "ResourceAtUriUnauthorized", "the user or the password is wrong")
	}
	return right
}

const sessionsPath = "/redfish/v1/SessionService/Sessions"

func (s *service) login(w http.ResponseWriter, r *http.Request) {
	var given struct{ UserName, Password string }
	if !body(w, r, &given) || !s.right(w, r, given.UserName, given.Password) {
		return
	}
	begun, token := s.sessions.begin(given.UserName, s.now())
	w.Header().Set("X-Auth-Token", token)
	w.Header().Set("Location", sessionsPath+"/"+begun.id)
	answer(w, http.StatusCreated, begun.object())
}

func (one session) object() object {
	return object{
		"@odata.id": sessionsPath + "/" + one.id, "@odata.type": "#Session.v1_1_0.Session",
		"Id": one.id, "Name": "Session " + one.id, "UserName": one.user,
	}
}

func (s *service) sessionService(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, object{
		"@odata.id": "/redfish/v1/SessionService", "@odata.type": "#SessionService.v1_1_5.SessionService",
		"Id": "SessionService", "Name": "Sessions", "ServiceEnabled": true,
		"SessionTimeout": int(sessionPatience / time.Second), "Sessions": link(sessionsPath),
	})
}

func (s *service) listSessions(w http.ResponseWriter, _ *http.Request) {
	members := []object{}
	for _, one := range s.sessions.list(s.now()) {
		members = append(members, link(sessionsPath+"/"+one.id))
	}
	answer(w, http.StatusOK, collection(sessionsPath, "#SessionCollection.SessionCollection", "Sessions", members))
}

func (s *service) showSession(w http.ResponseWriter, r *http.Request) {
	for _, one := range s.sessions.list(s.now()) {
		if one.id == r.PathValue("id") {
			answer(w, http.StatusOK, one.object())
			return
		}
	}
	fail(w, http.StatusNotFound, "ResourceMissingAtURI", "the session does not exist")
}

func (s *service) logout(w http.ResponseWriter, r *http.Request) {
	if !s.sessions.end(r.PathValue("id")) {
		fail(w, http.StatusNotFound, "ResourceMissingAtURI", "the session does not exist")
		return
	}
	w.WriteHeader(http.StatusNoContent)
}
