package script

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"sync"
	"time"

	"nines.dev/nines/script/wire"
)

// Server answers the scripts of a lab's nodes, each on a socket of its own. It lives as long as the
// lab; one phase at a time is in force.
type Server struct {
	listeners []net.Listener
	group     sync.WaitGroup

	mu    sync.Mutex
	phase *Phase
	// open are the connections, which end with the server.
	open map[net.Conn]bool
}

// errNoPhase means that a process asks after its script has ended.
var errNoPhase = errors.New("no script of this node is running")

// NewServer listens on the sockets, by node.
func NewServer(sockets map[string]string) (*Server, error) {
	s := &Server{open: map[net.Conn]bool{}}
	for node, path := range sockets {
		// What a killed run of the same lab left.
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, errors.Join(err, s.Close())
		}
		listener, err := net.Listen("unix", path)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("serve the scripts of node %s: %w", node, err), s.Close())
		}
		// Any user of the node may call; the node's folder is in no other node.
		if err := os.Chmod(path, 0o666); err != nil {
			return nil, errors.Join(err, listener.Close(), s.Close())
		}
		s.listeners = append(s.listeners, listener)
		s.group.Go(func() { s.accept(listener, node) })
	}
	return s, nil
}

// Serve answers the scripts of a node that come by a listener of the caller's, until it is closed.
func (s *Server) Serve(listener net.Listener, node string) {
	s.group.Go(func() { s.accept(listener, node) })
}

// Run puts a phase in force and runs it.
func (s *Server) Run(ctx context.Context, p *Phase) ([]Outcome, error) {
	s.mu.Lock()
	s.phase = p
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		s.phase = nil
		s.mu.Unlock()
	}()
	return p.Run(ctx)
}

// Close ends the server and its connections.
func (s *Server) Close() error {
	var failures []error
	for _, listener := range s.listeners {
		failures = append(failures, listener.Close())
	}
	s.mu.Lock()
	for conn := range s.open {
		_ = conn.Close() // its reader sees it
	}
	s.mu.Unlock()
	s.group.Wait()
	return errors.Join(failures...)
}

// mostConnections bounds what a script that runs wild takes of this process.
const mostConnections = 1000

func (s *Server) accept(listener net.Listener, node string) {
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond) // too many descriptors, for now
			continue
		}
		s.mu.Lock()
		if len(s.open) >= mostConnections {
			s.mu.Unlock()
			_ = conn.Close()
			continue
		}
		s.open[conn] = true
		s.mu.Unlock()
		s.group.Go(func() {
			s.serve(conn, node)
			s.mu.Lock()
			delete(s.open, conn)
			s.mu.Unlock()
			_ = conn.Close() // the answer was written, or nobody wants it
		})
	}
}

// serve answers one request.
func (s *Server) serve(conn net.Conn, node string) {
	reader := bufio.NewReader(conn)
	line, err := readLine(reader)
	if err != nil {
		return
	}
	var request wire.Request
	var answer wire.Answer
	if err := json.Unmarshal(line, &request); err != nil {
		answer.Error = "nines does not understand the request: " + err.Error()
	} else {
		s.mu.Lock()
		phase := s.phase
		s.mu.Unlock()
		if phase == nil {
			err = errNoPhase
		} else {
			answer.Value, err = phase.answer(node, request, conn, reader)
		}
		if err != nil {
			answer.Error = err.Error()
		}
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return
	}
	_, _ = conn.Write(append(text, '\n'))
}

// readLine reads a request's line.
func readLine(reader *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := reader.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > wire.LongestLine:
			return nil, errors.New("the request is too long")
		case err == nil:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// beginRequest lets a request in, unless the phase's scripts have ended.
func (p *Phase) beginRequest(conn net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return false
	}
	p.callers[conn] = true
	p.requests.Add(1)
	return true
}

func (p *Phase) endRequest(conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.callers, conn)
	p.requests.Done()
}

// endRequests refuses requests from now on, and waits for those under way: what they change is read
// next, and their folders are closed. Only a process that has left its script's group still calls, and
// nobody knows when it would end, so that what it has not sent is not waited for.
func (p *Phase) endRequests() {
	p.mu.Lock()
	p.ended = true
	for conn := range p.callers {
		_ = conn.SetReadDeadline(time.Unix(1, 0)) // fails where it has been closed
	}
	p.mu.Unlock()
	p.requests.Wait()
}

// answer meets a request of a node. The connection ends where the caller gives up.
func (p *Phase) answer(node string, r wire.Request, conn net.Conn, body *bufio.Reader) (string, error) {
	if p.folders[node] == nil || !p.beginRequest(conn) {
		return "", errNoPhase
	}
	defer p.endRequest(conn)
	switch r.Verb {
	case wire.Get:
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.variables.Get(node, r.Key, r.Scope)
	case wire.Set:
		p.mu.Lock()
		defer p.mu.Unlock()
		return "", p.variables.Set(node, r.Key, r.Value, r.Scope)
	case wire.Sync:
		return "", p.sync(node, r.Name, conn)
	case wire.Upload:
		if r.Bytes < 0 {
			return "", errors.New("an upload has no size")
		}
		return "", p.folders[node].Upload(r.Name, r.Bytes, body)
	case wire.Run:
		return "", p.start(node, r.Name, r.Argv, r.Dir, r.Env)
	case wire.Kill, wire.Wait:
		return p.await(node, r, conn)
	}
	return "", fmt.Errorf("unknown request %q: nines-script in the node has another version than nines", r.Verb)
}

// sync waits at a barrier until it ends or the caller gives up.
func (p *Phase) sync(node, tag string, conn net.Conn) error {
	if len(tag) > longestName {
		return fmt.Errorf("a barrier's tag has at most %d bytes", longestName)
	}
	p.mu.Lock()
	answer := p.barriers.Arrive(node, tag)
	p.mu.Unlock()
	select {
	case err := <-answer:
		return err
	case <-gone(conn):
		p.mu.Lock()
		defer p.mu.Unlock()
		p.barriers.Leave(node, tag, answer)
		return errNoPhase
	}
}

// await waits for a command, after ending it where that is asked for.
func (p *Phase) await(node string, r wire.Request, conn net.Conn) (string, error) {
	c, err := p.find(node, r.Name)
	if err != nil {
		return "", err
	}
	if r.Verb == wire.Kill {
		c.end()
	}
	select {
	case <-c.ended:
		return c.outcome, c.failure
	case <-gone(conn):
		return "", errNoPhase
	}
}

// gone is closed when the caller has closed its connection.
func gone(conn net.Conn) <-chan struct{} {
	closed := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, conn)
		close(closed)
	}()
	return closed
}
