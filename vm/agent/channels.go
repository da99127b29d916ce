package agent

import (
	"encoding/json"
	"errors"
	"io"
	"math"

	"github.com/hashicorp/yamux"
)

var errSession = errors.New("the session with the guest has ended")

// sessionConfig has no timeouts: a guest that is translated, or stopped, may take any time,
// and the end of either process ends the session.
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
	// control has messages one way and the outcome the other.
	control io.ReadWriteCloser
	// data is standard input one way and standard output the other.
	data io.ReadWriteCloser
	// errors is standard error.
	errors io.ReadWriteCloser
}

// newChannels opens the streams of a command, or accepts them, in their order.
func newChannels(next func() (*yamux.Stream, error)) (c channels, err error) {
	for _, stream := range []*io.ReadWriteCloser{&c.control, &c.data, &c.errors} {
		if *stream, err = next(); err != nil {
			return channels{}, errors.Join(errSession, err)
		}
	}
	return c, nil
}

// close ends the streams in this direction; they are gone when the other side has done so
// too.
func (c channels) close() {
	_ = c.data.Close()
	_ = c.errors.Close()
	_ = c.control.Close()
}

// send writes a message or an outcome as a line, from any goroutine.
func send(control io.Writer, what any) error { return json.NewEncoder(control).Encode(what) }

// pour copies until the source ends. What cannot be written is dropped: who sends it is not
// to wait for ever, and a command ends as it would have.
func pour(to io.Writer, from io.Reader) {
	if to != nil {
		_, _ = io.Copy(to, from)
	}
	_, _ = io.Copy(io.Discard, from)
}
