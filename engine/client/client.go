package client

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

// Error is a command that the engine refused.
type Error struct {
	Command string
	Problem string
	Errno   string // "ENODEV", or empty
}

func (e *Error) Error() string {
	return fmt.Sprintf("engine refused %s: %s", e.Command, e.Problem)
}

// ErrGone is returned if the engine ends or closes the connection before it answers.
var ErrGone = errors.New("the engine is gone")

// maxLineBytes bounds one answer: bulk data of a million outliers, as text.
const maxLineBytes = 256 << 20

// Client is a connection to one engine.
type Client struct {
	lines  *bufio.Reader
	writes sync.Mutex // Abort may run beside Trial
	out    io.Writer
	closer io.Closer
}

// New talks to an engine over its output (read) and input (write). closer ends the connection; for
// a child process it closes the input.
func New(read io.Reader, write io.Writer, closer io.Closer) *Client {
	return &Client{lines: bufio.NewReaderSize(read, 1<<16), out: write, closer: closer}
}

// Dial connects to the control socket at path, waiting up to the context's end
// for an engine that is just starting.
func Dial(ctx context.Context, path string) (*Client, error) {
	var dialer net.Dialer
	for {
		conn, err := dialer.DialContext(ctx, "unix", path)
		if err == nil {
			return New(conn, conn, conn), nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("connect to the engine at %s: %w", path, err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Close ends the connection; a forwarding engine continues.
func (c *Client) Close() error { return c.closer.Close() }

// Hello asks the engine to describe itself, and refuses another protocol version.
func (c *Client) Hello() (Hello, error) {
	var hello Hello
	if err := c.call("hello", nil, &hello, nil); err != nil {
		return Hello{}, err
	}
	if hello.Protocol != ProtocolVersion {
		return Hello{}, fmt.Errorf("the engine speaks protocol %d, nines %d: build both from one version", hello.Protocol, ProtocolVersion)
	}
	return hello, nil
}

// Open opens a port.
func (c *Client) Open(port Port) (Opened, error) {
	var opened Opened
	err := c.call("open", port, &opened, nil)
	return opened, err
}

// ClosePort closes a port and returns its counters.
func (c *Client) ClosePort(name string) error {
	return c.call("close", map[string]string{"port": name}, nil, nil)
}

// Serve starts forwarding or reflecting, until Stop.
func (c *Client) Serve(serve Serve) error { return c.call("serve", serve, nil, nil) }

// Stats reads the counters of a serving engine.
func (c *Client) Stats() (Stats, error) {
	var stats Stats
	err := c.call("stats", nil, &stats, nil)
	return stats, err
}

// Clock reads the clocks of the engine's machine.
func (c *Client) Clock() (Clock, error) {
	var clock Clock
	err := c.call("clock", nil, &clock, nil)
	return clock, err
}

// Stop ends serving and returns the counters.
func (c *Client) Stop() (Stats, error) {
	var stats Stats
	err := c.call("stop", nil, &stats, nil)
	return stats, err
}

// Events are callbacks that Trial calls when the engine reports an event; nil ones are skipped.
type Events struct {
	Started  func(Started)
	Progress func(Progress)
	// Interruptions is the answer to AskInterruptions.
	Interruptions func([]Interrupted, error)
}

// Trial runs a trial and waits for its result.
func (c *Client) Trial(trial Trial, events Events) (TrialResult, error) {
	var answer struct {
		TrialResult
		Bulk []byte `json:"bulk"`
	}
	err := c.call("trial", trial, &answer, func(name string, line []byte) {
		switch {
		case name == "started" && events.Started != nil:
			var started Started
			if json.Unmarshal(line, &started) == nil {
				events.Started(started)
			}
		case name == "progress" && events.Progress != nil:
			var progress Progress
			if json.Unmarshal(line, &progress) == nil {
				events.Progress(progress)
			}
		case name == "interruptions" && events.Interruptions != nil:
			events.Interruptions(interruptedOf(line))
		}
	})
	if err != nil {
		return TrialResult{}, err
	}
	result := &answer.TrialResult
	for _, s := range result.Streams {
		result.Counts.add(s.Counts)
	}
	if err := result.unpack(answer.Bulk); err != nil {
		return TrialResult{}, fmt.Errorf("trial: %w", err)
	}
	return *result, nil
}

// End tells a sink how many packets its generator sent. Like Abort, it is called while Trial runs,
// which skips its answer.
func (c *Client) End(txPackets uint64) error {
	return c.send("end", map[string]uint64{"tx_packets": txPackets})
}

// Pause has a running trial send nothing until Resume, while its schedule waits: no packet is late by it. What is under
// way arrives first; then the measuring thread leaves its CPU, and Arrivals are in the state TrialPaused. A warm-up does
// not pause, but what follows it. Like Abort, these are called while Trial runs, which skips their answers.
func (c *Client) Pause() error { return c.send("pause", nil) }

// Resume ends a pause. The next one is told from this one by the state TrialRunning between them.
func (c *Client) Resume() error { return c.send("resume", nil) }

// Finish ends a running trial as if its schedule ended now: what is under way arrives, and nothing counts as lost by
// it. Trial then returns the results so far, which are not interrupted (TrialResult.StoppedNs). In its warm-up a trial is
// aborted.
func (c *Client) Finish() error { return c.send("stop", nil) }

// Abort ends a running trial early; Trial then returns the results so far.
func (c *Client) Abort() error { return c.send("abort", nil) }

// send writes one command line.
func (c *Client) send(command string, fields any) error {
	line, err := encode(command, fields)
	if err != nil {
		return err
	}
	c.writes.Lock()
	defer c.writes.Unlock()
	if _, err := c.out.Write(line); err != nil {
		return fmt.Errorf("%s: %w: %w", command, ErrGone, err)
	}
	return nil
}

// encode puts the command's name before its fields.
func encode(command string, fields any) ([]byte, error) {
	body := []byte("{}")
	if fields != nil {
		var err error
		if body, err = json.Marshal(fields); err != nil {
			return nil, fmt.Errorf("encode %s: %w", command, err)
		}
	}
	line := fmt.Appendf(nil, `{"cmd":%q`, command)
	if len(body) > 2 {
		line = append(append(line, ','), body[1:]...)
	} else {
		line = append(line, '}')
	}
	return append(line, '\n'), nil
}

// call sends a command, reads up to its answer, and decodes that into answer.
func (c *Client) call(command string, fields, answer any, event func(name string, line []byte)) error {
	if err := c.send(command, fields); err != nil {
		return err
	}
	for {
		line, err := c.readLine()
		if err != nil {
			return fmt.Errorf("%s: %w", command, err)
		}
		var head struct {
			Reply string `json:"reply"`
			Event string `json:"event"`
			OK    bool   `json:"ok"`
			Error string `json:"error"`
			Errno string `json:"errno"`
		}
		if err := json.Unmarshal(line, &head); err != nil {
			return fmt.Errorf("%s: the engine's answer is not JSON: %.80q", command, line)
		}
		switch {
		case head.Event != "":
			if event != nil {
				event(head.Event, line)
			}
		case head.Reply != command && head.Reply != "?":
			if event != nil { // the answer to what was asked during a trial
				event(head.Reply, line)
			}
		case !head.OK:
			return &Error{Command: command, Problem: head.Error, Errno: head.Errno}
		case answer == nil:
			return nil
		default:
			if err := json.Unmarshal(line, answer); err != nil {
				return fmt.Errorf("%s: the engine's answer has another form: %w", command, err)
			}
			return nil
		}
	}
}

func (c *Client) readLine() ([]byte, error) {
	var line []byte
	for {
		part, err := c.lines.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case errors.Is(err, bufio.ErrBufferFull):
			if len(line) > maxLineBytes {
				return nil, fmt.Errorf("the engine's answer is longer than %d bytes", maxLineBytes)
			}
		default:
			return nil, fmt.Errorf("%w (%w)", ErrGone, err)
		}
	}
}
