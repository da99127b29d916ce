// Package relay joins the scripts of a node to nines where no socket can be shared, as with a guest: each
// connection to the node's socket becomes a stream of one yamux session, over the input and output of a
// program in the node. Serve is that program's side, Listen nines'.
//
// The session has no timeouts, as a translated or stopped guest may take any time. It ends with either
// side.
package relay

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hashicorp/yamux"

	"nines.dev/nines/script/wire"
)

func config() *yamux.Config {
	c := yamux.DefaultConfig()
	c.EnableKeepAlive = false
	c.ConnectionWriteTimeout = math.MaxInt64
	c.StreamOpenTimeout, c.StreamCloseTimeout = 0, 0
	c.LogOutput = io.Discard
	return c
}

// Serve makes a node's folder of scripts, with the names of their command and its socket, and passes what
// comes there to nines, until nines goes. Then the socket is gone.
func Serve(folder, command string, nines io.ReadWriteCloser) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, name := range slices.AppendSeq([]string{wire.Command, wire.CommandInNodes}, maps.Keys(wire.Aliases)) {
		if err := link(command, filepath.Join(folder, name)); err != nil {
			return err
		}
	}
	socket := filepath.Join(folder, wire.SocketFile)
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // what a killed run left
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	defer listener.Close()
	if err := os.Chmod(socket, 0o666); err != nil { // any user of the node may call
		return err
	}
	session, err := yamux.Client(nines, config())
	if err != nil {
		return err
	}
	defer func() { _ = session.Close() }() // what ends it ends this
	ready, err := session.OpenStream()     // nines waits for it
	if err != nil {
		return err
	}
	if err := ready.Close(); err != nil {
		return err
	}
	go func() {
		<-session.CloseChan()
		_ = listener.Close()
	}()
	for {
		conn, err := listener.Accept()
		if session.IsClosed() {
			return nil
		}
		if errors.Is(err, net.ErrClosed) {
			return err
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond) // too many descriptors, for now
			continue
		}
		go pass(conn.(*net.UnixConn), session)
	}
}

func link(target, path string) error {
	if err := os.Symlink(target, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// pass joins a connection to a stream of its own. It ends with nines' side: what the caller still sends then
// is read by nobody.
func pass(conn *net.UnixConn, session *yamux.Session) {
	defer func() { _ = conn.Close() }()
	stream, err := session.OpenStream()
	if err != nil {
		return
	}
	defer func() { _ = stream.Close() }()
	go func() {
		_, _ = io.Copy(stream, conn)
		_ = stream.Close() // the caller has gone, which nines sees
	}()
	_, _ = io.Copy(conn, stream)
}

// listener hands out the connections of a session.
type listener struct{ *yamux.Session }

// Listen returns what a node's scripts connect to, when their socket is there.
func Listen(node io.ReadWriteCloser) (net.Listener, error) {
	session, err := yamux.Server(node, config())
	if err != nil {
		return nil, err
	}
	ready, err := session.AcceptStream()
	if err != nil {
		return nil, errors.Join(err, session.Close())
	}
	return listener{session}, ready.Close()
}

// Accept returns net.ErrClosed when the session has ended, however it did.
func (l listener) Accept() (net.Conn, error) {
	stream, err := l.AcceptStream()
	if err != nil {
		return nil, net.ErrClosed
	}
	return stream, nil
}
