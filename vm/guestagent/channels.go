package guestagent

import (
	"encoding/json"
	"errors"
	"io"
	"math"

	"github.com/hashicorp/yamux"
)

var errSession = errors.New("the session with the guest has ended")

// sessionConfig has no timeouts: a translated or stopped guest may take any time. The
// session ends when either process ends.
func sessionConfig() *yamux.Config {
	c := yamux.DefaultConfig()
	c.EnableKeepAlive = false
	c.ConnectionWriteTimeout = math.MaxInt64
	c.StreamOpenTimeout, c.StreamCloseTimeout = 0, 0
	c.LogOutput = io.Discard
	return c
}

// channels are the streams of one command.
type channels struct {
	// control carries messages one way and the outcome the other.
	control io.ReadWriteCloser
	// data carries standard input one way and standard output the other.
	data io.ReadWriteCloser
	// errors carries standard error.
	errors io.ReadWriteCloser
}

// newChannels opens or accepts a command's streams, in a fixed order.
func newChannels(next func() (*yamux.Stream, error)) (c channels, err error) {
	for _, stream := range []*io.ReadWriteCloser{&c.control, &c.data, &c.errors} {
		if *stream, err = next(); err != nil {
			return channels{}, errors.Join(errSession, err)
		}
	}
	return c, nil
}

// close closes the streams in this direction; they are gone when the other side has closed
// them too.
func (c channels) close() {
	_ = c.data.Close()
	_ = c.errors.Close()
	_ = c.control.Close()
}

// send writes a message or an outcome as a line, from any goroutine.
func send(control io.Writer, what any) error { return json.NewEncoder(control).Encode(what) }

// pour copies until the source ends. It drops what cannot be written, so that the sender
// does not block and a command ends as usual.
func pour(to io.Writer, from io.Reader) {
	if to != nil {
		_, _ = io.Copy(to, from)
	}
	_, _ = io.Copy(io.Discard, from)
}
