package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"nines.dev/nines/lab/state"
	"nines.dev/nines/power"
)

// Request is what a client wants: an action of a power button with one node, or something done to nodes.
type Request struct {
	Nodes  []string     `json:"nodes"`
	Action power.Action `json:"action,omitempty"`
	Do     string       `json:"do,omitempty"`
	// Kill and Fresh say how nodes are restarted.
	Kill  bool   `json:"kill,omitempty"`
	Fresh bool   `json:"fresh,omitempty"`
	By    string `json:"by"`
}

type answer struct {
	Problem string `json:"problem,omitempty"`
}

const (
	// mostClients are served at a time; the others wait in the socket's queue.
	mostClients = 16
	// mostAsked is the longest request, in bytes.
	mostAsked = 4 << 10
	// askPatience is how long a client may take to say what it wants.
	askPatience = 5 * time.Second
	// acceptEvery is how often the server tries again where it cannot take a connection.
	acceptEvery = 100 * time.Millisecond
)

// Server takes requests.
type Server struct {
	listener net.Listener
	cancel   context.CancelFunc
	clients  sync.WaitGroup
	do       func(context.Context, Request) error
}

// Listen takes requests at a path, until Close, and has do do them; many at a time.
func Listen(path string, do func(context.Context, Request) error) (*Server, error) {
	if err := state.AbsentIsFine(os.Remove(path)); err != nil {
		return nil, fmt.Errorf("remove the door of an earlier measurement: %w", err)
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("open the door to the lab's nodes: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{listener: listener, cancel: cancel, do: do}
	if err := os.Chmod(path, 0o600); err != nil {
		s.Close()
		return nil, fmt.Errorf("open the door to the lab's nodes: %w", err)
	}
	s.clients.Go(func() { s.accept(ctx) })
	return s, nil
}

// Close returns when no client is served. It does nothing where there is no server.
func (s *Server) Close() {
	if s == nil {
		return
	}
	s.cancel()
	_ = s.listener.Close() // and removes the socket
	s.clients.Wait()
}

func (s *Server) accept(ctx context.Context) {
	places := make(chan struct{}, mostClients)
	for {
		conn, err := s.listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // such as no descriptor left
			select {
			case <-ctx.Done():
				return
			case <-time.After(acceptEvery):
			}
			continue
		}
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			_ = conn.Close()
			return
		}
		s.clients.Go(func() {
			defer func() { <-places }()
			defer conn.Close()
			var said answer
			if err := s.serve(ctx, conn); err != nil {
				said.Problem = err.Error()
			}
			_ = conn.SetDeadline(time.Now().Add(askPatience))
			_ = json.NewEncoder(conn).Encode(said) // one that has gone needs none
		})
	}
}

func (s *Server) serve(ctx context.Context, conn net.Conn) error {
	_ = conn.SetDeadline(time.Now().Add(askPatience))
	var asked Request
	if err := json.NewDecoder(io.LimitReader(conn, mostAsked)).Decode(&asked); err != nil {
		return fmt.Errorf("the request cannot be read: %w", err)
	}
	return s.do(ctx, asked)
}
