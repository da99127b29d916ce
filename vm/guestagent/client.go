package guestagent

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/yamux"
)

// Client is the host's side of a session. Its methods may be called from many
// goroutines.
type Client struct {
	session *yamux.Session
	// opening keeps a command's streams together.
	opening sync.Mutex
}

// Dial starts a session on a port and returns when the guest answers. The end of the
// session closes the port.
func Dial(ctx context.Context, port io.ReadWriteCloser) (*Client, error) {
	stop := context.AfterFunc(ctx, func() { _ = port.Close() })
	hello := newHello()
	reader := bufio.NewReader(port)
	_, err := port.Write(hello)
	if err == nil {
		err = skipTo(reader, hello[len(mark):])
	}
	if !stop() {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		_ = port.Close()
		return nil, fmt.Errorf("the guest does not answer: %w", err)
	}
	session, err := yamux.Client(struct {
		io.Reader
		io.WriteCloser
	}{reader, port}, sessionConfig())
	return &Client{session: session}, err
}

// Close ends the session. The guest ends its commands, except those that stay.
func (c *Client) Close() error { return c.session.Close() }

// Gone is closed when the session has ended, for example because the guest has.
func (c *Client) Gone() <-chan struct{} { return c.session.CloseChan() }

// PowerOff asks the guest to power off, and does not wait for it.
func (c *Client) PowerOff() error {
	command, err := c.open()
	if err != nil {
		return err
	}
	return send(command.control, message{PowerOff: true})
}

func (c *Client) open() (channels, error) {
	c.opening.Lock()
	defer c.opening.Unlock()
	return newChannels(c.session.OpenStream)
}

// Streams are a command's streams on the host; nil means no input, or discarded output.
type Streams struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Resized delivers new sizes of the terminal.
	Resized <-chan Terminal
	// Grace is how long a cancelled command may take to end after SIGTERM, before
	// SIGKILL; zero means ten seconds.
	Grace time.Duration
}

const (
	defaultGrace = 10 * time.Second
	// killPatience is the time that a guest has to report the end of a command that it
	// killed.
	killPatience = 5 * time.Second
)

// Run runs a command in the guest and returns its exit code. If ctx is cancelled, Run ends
// the command and returns ctx's error.
func (c *Client) Run(ctx context.Context, request Request, streams Streams) (int, error) {
	result, err := c.run(ctx, request, streams)
	return result.Code, err
}

// Start starts a command that survives the session, and returns its PID in the guest.
func (c *Client) Start(ctx context.Context, request Request) (pid int, err error) {
	request.Stay = true
	result, err := c.run(ctx, request, Streams{})
	return result.PID, err
}

func (c *Client) run(ctx context.Context, request Request, streams Streams) (outcome, error) {
	if len(request.Argv) == 0 {
		return outcome{}, errors.New("no command to run in the guest")
	}
	if err := ctx.Err(); err != nil {
		return outcome{}, context.Cause(ctx)
	}
	start, err := json.Marshal(message{Start: &request})
	if err != nil {
		return outcome{}, err
	}
	if len(start) >= maxMessage {
		return outcome{}, fmt.Errorf("a command line of %d bytes is too long for a guest", len(start))
	}
	command, err := c.open()
	if err != nil {
		return outcome{}, err
	}
	defer command.close()
	if err := send(command.control, json.RawMessage(start)); err != nil {
		return outcome{}, fmt.Errorf("run %s in the guest: %w", request.Argv[0], err)
	}
	go command.give(streams)
	var taken sync.WaitGroup
	taken.Go(func() { pour(streams.Stdout, command.data) })
	taken.Go(func() { pour(streams.Stderr, command.errors) })
	result, err := command.wait(ctx, streams.Grace)
	if err == nil || result.Code != 0 {
		taken.Wait() // all its output is there, even if it was killed
	}
	if err == nil && result.Failed != "" {
		err = &StartError{Command: request.Argv[0], Reason: result.Failed, NotFound: result.NotFound}
	}
	return result, err
}

// give sends the command's input and its terminal's sizes to the guest. A read that blocks,
// as from a terminal, keeps its goroutine after the command has ended; nothing waits for
// it.
func (c channels) give(streams Streams) {
	if streams.Resized != nil {
		go func() {
			for size := range streams.Resized {
				if send(c.control, message{Resize: &size}) != nil {
					return
				}
			}
		}()
	}
	if streams.Stdin != nil {
		_, _ = io.Copy(c.data, streams.Stdin)
	}
	_ = c.data.Close()
}

// wait waits for the end of a command, and ends it when ctx ends.
func (c channels) wait(ctx context.Context, grace time.Duration) (outcome, error) {
	results := make(chan outcome, 1)
	go func() {
		defer close(results)
		var result outcome
		if json.NewDecoder(io.LimitReader(c.control, maxMessage)).Decode(&result) == nil {
			results <- result
		}
	}()
	select {
	case result, told := <-results:
		if !told {
			return outcome{}, errSession
		}
		return result, nil
	case <-ctx.Done():
	}
	if grace == 0 {
		grace = defaultGrace
	}
	for _, step := range []struct {
		signal   syscall.Signal
		patience time.Duration
	}{{syscall.SIGTERM, grace}, {syscall.SIGKILL, killPatience}} {
		if send(c.control, message{Signal: int(step.signal)}) != nil {
			break
		}
		select {
		case result := <-results:
			return result, context.Cause(ctx)
		case <-time.After(step.patience):
		}
	}
	return outcome{}, context.Cause(ctx)
}
