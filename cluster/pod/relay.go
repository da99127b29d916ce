package pod

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// keepAlive is how often an engine that nobody speaks to is asked something: kubelets and runtimes
// close streams on which nothing comes for 4 hours (streamingConnectionIdleTimeout).
const keepAlive = time.Hour

// Relay serves the control socket of an engine whose standard input and output run has: one client
// at a time, as an engine's own socket does. A client may come and go while the engine works on.
// Relay returns when the engine ends, and ends it when ctx does.
//
//	client ── listener ── lines ──▸ engine's input
//	       ◂── answers ── lines ─── engine's output
func Relay(ctx context.Context, listener net.Listener, run func(context.Context, Streams) error, stderr io.Writer) error {
	input, toEngine := io.Pipe()
	fromEngine, output := io.Pipe()
	r := &relay{engine: toEngine}
	r.settled = sync.NewCond(&r.mu)
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, Streams{Stdin: input, Stdout: output, Stderr: stderr})
		ended <- errors.Join(err, output.Close(), input.Close())
	}()
	go func() {
		_ = r.deliver(fromEngine) // it ends with the engine, which run tells of
		r.end()
		_ = listener.Close()
	}()
	go r.stayAlive(ctx)
	for {
		client, err := listener.Accept()
		if err != nil {
			break
		}
		r.serve(client)
	}
	// The engine exits at the end of its input.
	return errors.Join(toEngine.Close(), <-ended)
}

// relay passes whole lines between an engine and one client after the other.
type relay struct {
	engine io.Writer
	// turn is who speaks to the engine.
	turn sync.Mutex

	mu      sync.Mutex
	settled *sync.Cond
	client  io.WriteCloser
	// owed is how many answers the engine still has to give: one for each command.
	owed int
	gone bool
}

// serve relays for one client, until it leaves.
func (r *relay) serve(client net.Conn) {
	if !r.begin(client) {
		_ = client.Close()
		return
	}
	defer func() {
		_ = client.Close() // first, as its lines may be on their way, to nobody who reads them
		r.leave()
	}()
	lines := bufio.NewReader(client)
	for {
		// A line without its end is of a client that has left in the middle of it.
		line, err := lines.ReadBytes('\n')
		if err != nil || r.send(line) != nil {
			return
		}
	}
}

// begin gives a client the turn, when the answers to those before it are in; false if the engine has
// ended.
func (r *relay) begin(client io.WriteCloser) bool {
	r.turn.Lock()
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.owed > 0 && !r.gone {
		r.settled.Wait()
	}
	if r.gone {
		r.turn.Unlock()
		return false
	}
	r.client = client
	return true
}

func (r *relay) leave() {
	r.mu.Lock()
	r.client = nil
	r.mu.Unlock()
	r.turn.Unlock()
}

// send gives the engine a command.
func (r *relay) send(line []byte) error {
	if len(line) <= 1 {
		return nil // the engine answers no empty line
	}
	r.mu.Lock()
	r.owed++
	r.mu.Unlock()
	_, err := r.engine.Write(line)
	return err
}

// deliver gives the engine's lines to the client that is there, until the engine ends.
func (r *relay) deliver(from io.Reader) error {
	lines := bufio.NewReaderSize(from, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return fmt.Errorf("read the engine's answers: %w", err)
		}
		var head struct {
			Reply string `json:"reply"`
		}
		isReply := json.Unmarshal(line, &head) == nil && head.Reply != ""
		r.mu.Lock()
		if r.client != nil {
			_, _ = r.client.Write(line) // a client that has left is noticed where it is read
		}
		if isReply {
			r.owed--
			r.settled.Broadcast()
		}
		r.mu.Unlock()
	}
}

// end lets nobody wait for an engine that has ended.
func (r *relay) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.gone = true
	r.settled.Broadcast()
	if r.client != nil {
		_ = r.client.Close()
	}
}

// stayAlive asks the engine something now and then, while no client does.
func (r *relay) stayAlive(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(keepAlive):
		}
		if !r.turn.TryLock() {
			continue
		}
		err := r.send([]byte(`{"cmd":"hello"}` + "\n"))
		r.turn.Unlock()
		if err != nil {
			return // the engine has ended
		}
	}
}
