package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/cluster/agent/measure"
	"nines.dev/nines/test/labtest"
)

// served is a server on the loopback device, where each caller has the address of n2.
type served struct {
	*Server
	url     string
	results []string
	charged []measure.Load
	unfit   error
	// settled counts the echoes whose cost was settled, with the slot taken.
	settled atomic.Int32
	// disturb has something come that stands against the echo.
	disturb context.CancelCauseFunc
}

func serve(t *testing.T, agents ...Peer) *served {
	t.Helper()
	s := &served{}
	s.Server = &Server{
		Slot: measure.NewSlot(), Answered: func(result string) { s.results = append(s.results, result) },
		Agents: &Directory{Find: func(context.Context) ([]Peer, error) { return agents, nil }},
		Watch:  func(context.Context) func() bool { return func() bool { return true } },
		Fit: func(ctx context.Context, _ string, load measure.Load) (fit context.Context, settle func(), _ error) {
			s.charged = append(s.charged, load)
			fit, s.disturb = context.WithCancelCause(ctx)
			return fit, s.settle, s.unfit
		},
	}
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		server.Close()
		s.Close()
	})
	s.url = server.URL
	return s
}

func (s *served) settle() {
	if !s.Slot.TryTake() {
		s.settled.Add(1)
	}
}

func (s *served) ask(t *testing.T, method, body string) (int, string) {
	t.Helper()
	call, err := http.NewRequestWithContext(context.Background(), method, s.url+Path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(call)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

var (
	here = Peer{Node: "n2", Address: netip.MustParseAddr("127.0.0.1")}
	some = `{"rate_pps":1000,"frame_bytes":64,"duration_ns":5000000000}`
)

func TestWhoMayNotBeAnsweredIsToldWhy(t *testing.T) {
	for name, test := range map[string]struct {
		agents []Peer
		body   string
		unfit  error
		taken  bool
		status int
		result string
		says   string
	}{
		"a stranger":              {[]Peer{{Node: "n3", Address: netip.MustParseAddr("10.0.0.3")}}, some, nil, false, http.StatusForbidden, "stranger", "127.0.0.1"},
		"a node that is measured": {[]Peer{here}, some, nil, true, http.StatusConflict, "taken", "later"},
		"a pod that is alone":     {[]Peer{here}, some, errors.New("pod a/b requests isolation"), false, http.StatusConflict, "unfit", "pod a/b"},
		"no JSON":                 {[]Peer{here}, "echo", nil, false, http.StatusBadRequest, "wrong", "JSON"},
		"for an hour":             {[]Peer{here}, `{"rate_pps":1,"frame_bytes":64,"duration_ns":3600000000000}`, nil, false, http.StatusBadRequest, "wrong", "at most 1m0s"},
		"a flood":                 {[]Peer{here}, `{"rate_pps":1000000000,"frame_bytes":64,"duration_ns":1}`, nil, false, http.StatusBadRequest, "wrong", "packets a second"},
		"frames of nothing":       {[]Peer{here}, `{"rate_pps":1,"frame_bytes":1,"duration_ns":1}`, nil, false, http.StatusBadRequest, "wrong", "64 to"},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, test.agents...)
			s.unfit = test.unfit
			if test.taken && !s.Slot.TryTake() {
				t.Fatal("the slot is not free")
			}
			status, text := s.ask(t, http.MethodPost, test.body)
			if status != test.status || !strings.Contains(text, test.says) || len(s.results) != 1 || s.results[0] != test.result {
				t.Errorf("%d %q, counted as %v", status, text, s.results)
			}
			if test.result != "unfit" && len(s.charged) > 0 {
				t.Errorf("it was charged: %v", s.charged)
			}
			if !test.taken && !s.Slot.TryTake() {
				t.Error("the slot was kept")
			}
		})
	}
}

// TestAnEchoComesBackAsItWasSent has the real engine answer a socket of this test.
func TestAnEchoComesBackAsItWasSent(t *testing.T) {
	s := serve(t, here)
	s.Engine = labtest.EnginePath(t)
	mine := listen(t)
	s.Port = mine.LocalAddr().(*net.UDPAddr).Port
	status, text := s.ask(t, http.MethodPost, some)
	var given granted
	if err := json.Unmarshal([]byte(text), &given); err != nil || status != http.StatusOK || given.Port != s.Port {
		t.Fatalf("%d %q: %v", status, text, err)
	}
	if s.charged[0] != (measure.Load{RatePPS: 1000, FrameBytes: 64, Duration: 5 * time.Second}) {
		t.Errorf("charged for %+v", s.charged[0])
	}
	if status, _ := s.ask(t, http.MethodPost, some); status != http.StatusConflict {
		t.Errorf("a second one got %d while the first has the node", status)
	}
	sent := bytes.Repeat([]byte("x"), 18)
	echoed(t, mine, s.Port, sent)
	if status, text := s.ask(t, http.MethodDelete, ""); status != http.StatusOK || text != "{\"busy\":true}\n" {
		t.Fatalf("%d %q", status, text)
	}
	if !s.Slot.TryTake() || s.settled.Load() != 1 {
		t.Errorf("the slot was kept, or not settled once before: %d", s.settled.Load())
	}
}

func TestAnEchoEndsWithoutAWordOfItsPeer(t *testing.T) {
	s := serve(t, here)
	s.Engine = labtest.EnginePath(t)
	s.Port = listen(t).LocalAddr().(*net.UDPAddr).Port
	if status, text := s.ask(t, http.MethodPost, `{"rate_pps":1000,"frame_bytes":64,"duration_ns":1}`); status != http.StatusOK {
		t.Fatalf("%d %q", status, text)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.Slot.Take(ctx); err != nil {
		t.Error("the slot was kept for a minute")
	}
}

// TestAnEchoEndsWhenItDisturbs: the peer is told when it gives the echo back.
func TestAnEchoEndsWhenItDisturbs(t *testing.T) {
	s := serve(t, here)
	s.Engine = labtest.EnginePath(t)
	s.Port = listen(t).LocalAddr().(*net.UDPAddr).Port
	if status, text := s.ask(t, http.MethodPost, some); status != http.StatusOK {
		t.Fatalf("%d %q", status, text)
	}
	s.disturb(errors.New("pod a/b requests isolation"))
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.Slot.Take(ctx); err != nil {
		t.Fatal("the slot was kept for a minute")
	}
	if s.settled.Load() != 1 {
		t.Errorf("it was settled %d times", s.settled.Load())
	}
	if status, text := s.ask(t, http.MethodDelete, ""); status != http.StatusGone || !strings.Contains(text, "a pod that requests isolation arrived") {
		t.Errorf("%d %q", status, text)
	}
}

// listen opens a socket whose address is more to the point than the echo's on the same port.
func listen(t *testing.T) net.PacketConn {
	t.Helper()
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		set := c.Control(func(fd uintptr) {
			err = errors.Join(unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1), unix.BindToDevice(int(fd), "lo"))
		})
		return errors.Join(set, err)
	}}
	conn, err := config.ListenPacket(context.Background(), "udp4", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// echoed sends until something comes back, and wants it to be what was sent.
func echoed(t *testing.T, mine net.PacketConn, port int, sent []byte) {
	t.Helper()
	got := make([]byte, 2000)
	for range 100 {
		if _, err := mine.WriteTo(sent, &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}); err != nil {
			t.Fatal(err)
		}
		if err := mine.SetReadDeadline(time.Now().Add(300 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		n, from, err := mine.ReadFrom(got)
		if err != nil {
			continue
		}
		if !bytes.Equal(got[:n], sent) || from.(*net.UDPAddr).Port != port {
			t.Fatalf("%d bytes from %s", n, from)
		}
		return
	}
	t.Fatal("nothing came back")
}
