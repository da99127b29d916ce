package peer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"nines.dev/nines/cluster/agent/measure"
)

// Path is the path at which agents request echoes.
const Path = "/echo"

// request is what a peer requests: its packets back, for the time of a trial.
type request struct {
	RatePPS    int64 `json:"rate_pps"`
	FrameBytes int64 `json:"frame_bytes"`
	DurationNs int64 `json:"duration_ns"`
	// Over is the pod network that the packets use, and From their sender's address there; nil for the nodes'
	// own network.
	Over *Network   `json:"over,omitempty"`
	From netip.Addr `json:"from,omitzero"`
}

func (r request) load() measure.Load {
	return measure.Load{RatePPS: r.RatePPS, FrameBytes: r.FrameBytes, Duration: time.Duration(r.DurationNs)}
}

// lasts returns when an echo ends that the peer does not end: the other end has to make its port, too.
func (r request) lasts() time.Duration {
	length := r.load().RoundTrip() + drain + margin
	if r.Over != nil {
		length += passes
	}
	return length
}

// wrong returns what is wrong with the request; empty if nothing is.
func (r request) wrong() string {
	if r.RatePPS < 1 || r.RatePPS > mostRatePPS || r.FrameBytes < 64 || r.FrameBytes > mostFrameBytes ||
		r.DurationNs < 1 || r.DurationNs > int64(mostDuration) {
		return fmt.Sprintf("an echo is limited to 1 to %d packets a second, of 64 to %d bytes, for at most %s", mostRatePPS, mostFrameBytes, mostDuration)
	}
	if (r.Over != nil) != r.From.IsValid() || r.From.IsValid() && !r.From.Is4() {
		return "an echo over a pod network requires the sender's IPv4 address there (from); any other echo allows none"
	}
	return ""
}

// granted is the answer.
type granted struct {
	// Port is the UDP port of the echo.
	Port int `json:"port"`
	// Address is the address of the echo on a pod network; unset on the nodes' own network.
	Address netip.Addr `json:"address,omitzero"`
}

// ended is the answer to the end of an echo. Agents of before have given none.
type ended struct {
	// Busy is true if the node became busy during the echo.
	Busy bool `json:"busy,omitempty"`
}

// retryAfter is the header of a refusal that does not last (RFC 9110, 10.2.3).
const retryAfter = "Retry-After"

const (
	// mostDuration and mostRatePPS limit what one peer may use of a node.
	mostDuration = time.Minute
	mostRatePPS  = 100_000
	// mostFrameBytes is the engine's largest frame (docs/reference/engine-protocol.md).
	mostFrameBytes = 9018
)

// Unknown agents are looked up again, but no sooner than after unknownAge, so that a stranger cannot keep the
// API server busy.
const (
	knownAge   = 5 * time.Minute
	unknownAge = 10 * time.Second
)

// Server answers agents of other nodes. It is safe for concurrent use.
type Server struct {
	// Engine is the path of the engine program.
	Engine string
	// Port is the UDP port of echoes, the same on every node.
	Port int
	// Slot is the node's slot.
	Slot *measure.Slot
	// Agents lists the agents that are answered.
	Agents *Directory
	// Fit returns why a node cannot measure this one now. If it can, Fit charges the cost to the budget, and
	// the returned context ends with ctx, or when an obstacle appears: then the echo ends, too. It is called
	// with the slot taken, and so is settle when the echo has ended.
	Fit func(ctx context.Context, from string, load measure.Load) (fit context.Context, settle func(), err error)
	// Node is this node's name, and Probes makes its ports on pod networks; nil for none.
	Node   string
	Probes *Probes
	// Watch begins to watch whether the node is busy, until the context ends; the function that it returns tells.
	Watch func(context.Context) func() bool
	// Answered is called with "granted" or the reason of a refusal, for counting.
	Answered func(result string)

	lock sync.Mutex
	now  *echo
}

// ServeHTTP starts an echo (POST) or ends it (DELETE).
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	from, err := sender(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	switch r.Method {
	case http.MethodPost:
		s.start(w, r, from)
	case http.MethodDelete:
		s.lock.Lock()
		now := s.now
		s.lock.Unlock()
		if now == nil || now.from != from {
			http.Error(w, "the echo has ended: a pod that requests isolation arrived on the node, or the trial took too long", http.StatusGone)
			return
		}
		busy := now.busy()
		s.Close()
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(ended{Busy: busy}) // the caller may have left
	default:
		w.Header().Set("Allow", "POST, DELETE")
		http.Error(w, "POST starts an echo, DELETE ends it", http.StatusMethodNotAllowed)
	}
}

func sender(r *http.Request) (netip.Addr, error) {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}, fmt.Errorf("the caller's address is invalid: %w", err)
	}
	return at.Addr().Unmap(), nil
}

func (s *Server) start(w http.ResponseWriter, r *http.Request, from netip.Addr) {
	refuse := func(status int, result, text string) {
		s.Answered(result)
		http.Error(w, text, status)
	}
	var asked request
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1024)).Decode(&asked); err != nil {
		refuse(http.StatusBadRequest, "wrong", fmt.Sprintf("the request is not JSON: %v", err))
		return
	}
	if wrong := asked.wrong(); wrong != "" {
		refuse(http.StatusBadRequest, "wrong", wrong)
		return
	}
	who, err := s.agentAt(r.Context(), from)
	if err != nil {
		refuse(http.StatusServiceUnavailable, "unknown", err.Error())
		return
	}
	if who == "" {
		refuse(http.StatusForbidden, "stranger", fmt.Sprintf("%s is not the address of a ready agent of this cluster", from))
		return
	}
	if !s.Slot.TryTake() {
		w.Header().Set(retryAfter, "1")
		refuse(http.StatusConflict, "taken", "this node is measuring, or is being measured by another; try again later")
		return
	}
	// An echo outlives the call that starts it, unless the caller leaves before the answer.
	life, done := context.WithCancel(context.WithoutCancel(r.Context()))
	stays := context.AfterFunc(r.Context(), done)
	fit, settle, err := s.Fit(life, who, asked.load())
	if !stays() && err == nil {
		settle()
		err = r.Context().Err()
	}
	if err != nil {
		done()
		s.Slot.Give()
		refuse(http.StatusConflict, "unfit", err.Error())
		return
	}
	started, address, err := s.echo(r.Context(), asked, from)
	if absent := new(AbsentError); errors.As(err, &absent) {
		done()
		settle()
		s.Slot.Give()
		refuse(http.StatusNotFound, "absent", err.Error())
		return
	}
	if err != nil {
		done()
		settle()
		s.Slot.Give()
		slog.Error("echo not started", "for", who, "error", err)
		refuse(http.StatusInternalServerError, "failed", err.Error())
		return
	}
	started.done, started.settle, started.busy = done, settle, s.Watch(fit)
	s.lock.Lock()
	s.now = started
	// The caller may disappear without ending it.
	started.timer = time.AfterFunc(asked.lasts(), func() { s.end(started) })
	s.lock.Unlock()
	context.AfterFunc(fit, func() {
		if why := context.Cause(fit); !errors.Is(why, context.Canceled) {
			slog.Info("echo ended", "for", who, "reason", why)
		}
		s.end(started)
	})
	s.Answered("granted")
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(granted{s.Port, address}); err != nil {
		s.end(started) // the caller does not know about it
	}
}

// echo starts the requested echo, and returns its address on a pod network.
func (s *Server) echo(ctx context.Context, asked request, from netip.Addr) (started *echo, address netip.Addr, err error) {
	if asked.Over == nil {
		started, err = startEcho(s.Engine, from, s.Port, int(asked.FrameBytes))
		return started, address, err
	}
	if s.Probes == nil {
		return nil, address, &AbsentError{Network: *asked.Over}
	}
	address = Address(s.Node, asked.From)
	started, err = startEchoOver(ctx, s.Engine, s.Probes, *asked.Over, from, address, s.Port, int(asked.FrameBytes))
	return started, address, err
}

// agentAt returns the node whose agent has an address; empty if none has.
func (s *Server) agentAt(ctx context.Context, address netip.Addr) (string, error) {
	for _, age := range []time.Duration{knownAge, unknownAge} {
		agents, err := s.Agents.Peers(ctx, age)
		if err != nil {
			return "", err
		}
		for _, p := range agents {
			if p.Address == address {
				return p.Node, nil
			}
		}
	}
	return "", nil
}

// Close ends the echo, if there is one.
func (s *Server) Close() {
	s.lock.Lock()
	now := s.now
	s.lock.Unlock()
	if now != nil {
		s.end(now)
	}
}

// end ends an echo and releases the slot, once.
func (s *Server) end(e *echo) {
	s.lock.Lock()
	last := s.now == e
	if last {
		s.now = nil
		e.timer.Stop()
	}
	s.lock.Unlock()
	if !last {
		return
	}
	e.done()
	if err := e.end(); err != nil {
		slog.Error("echo not ended cleanly", "error", err)
	}
	e.settle()
	s.Slot.Give()
}
