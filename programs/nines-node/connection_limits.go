package main

import (
	"net"
	"sync"
	"time"

	"github.com/gliderlabs/ssh"
	gossh "golang.org/x/crypto/ssh"
)

// The limits of connections whose clients have not logged in, in all and of one address: a neighbour that
// opens many keeps only itself out, and exhausts no guest. A login takes some messages, and OpenSSH gives it
// two minutes (LoginGraceTime in sshd_config(5)).
const (
	mostPending   = 64
	mostPendingOf = 8
	loginPatience = 30 * time.Second
)

// pendingLogins are the connections whose clients have not logged in yet.
type pendingLogins struct {
	patience time.Duration
	mu       sync.Mutex
	all      int
	of       map[string]int // by address
}

func newPendingLogins() *pendingLogins {
	return &pendingLogins{patience: loginPatience, of: map[string]int{}}
}

// bound has a server close the connections that are too many, and those that take too long.
func (s *pendingLogins) bound(server *ssh.Server) {
	server.ConnCallback = s.enter
	server.ServerConfigCallback = func(ctx ssh.Context) *gossh.ServerConfig {
		return &gossh.ServerConfig{AuthLogCallback: func(_ gossh.ConnMetadata, _ string, err error) {
			if err == nil {
				ctx.Value(pendingLoginKey{}).(*pendingLogin).leave()
			}
		}}
	}
}

// pendingLoginKey leads to the *pendingLogin of a connection.
type pendingLoginKey struct{}

// enter returns nil for a connection that is one too many, which the server then closes.
func (s *pendingLogins) enter(ctx ssh.Context, conn net.Conn) net.Conn {
	address := conn.RemoteAddr().String()
	if host, _, err := net.SplitHostPort(address); err == nil {
		address = host
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == mostPending || s.of[address] == mostPendingOf {
		return nil
	}
	s.all++
	s.of[address]++
	// Not a deadline: the server sets its own.
	late := time.AfterFunc(s.patience, func() { _ = conn.Close() })
	known := &pendingLogin{Conn: conn, leave: sync.OnceFunc(func() {
		late.Stop()
		s.left(address)
	})}
	ctx.SetValue(pendingLoginKey{}, known)
	return known
}

func (s *pendingLogins) left(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all--
	if s.of[address]--; s.of[address] == 0 {
		delete(s.of, address)
	}
}

// pendingLogin is one of them, until its client has logged in or gone.
type pendingLogin struct {
	net.Conn
	leave func()
}

func (s *pendingLogin) Close() error {
	s.leave()
	return s.Conn.Close()
}
