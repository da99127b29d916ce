package agent

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"
)

// Client is the host's side of a session. Its methods may be called from many
// goroutines.
type Client struct {
	port   io.ReadWriteCloser
	frames *frameWriter

	mu       sync.Mutex
	next     uint32
	commands map[uint32]*running
	ended    error
	gone     chan struct{}
}

// Dial begins a session on a port, when the guest answers; until then it waits. A
// session that ends closes the port.
func Dial(ctx context.Context, port io.ReadWriteCloser) (*Client, error) {
	c := &Client{
		port: port, frames: &frameWriter{w: port},
		commands: map[uint32]*running{}, gone: make(chan struct{}),
	}
	stop := context.AfterFunc(ctx, func() { _ = port.Close() })
	nonce := make([]byte, nonceBytes)
	_, _ = rand.Read(nonce) // does not fail, crypto/rand says
	reader := bufio.NewReaderSize(port, 64<<10)
	err := c.frames.write(frame{kind: kindHello, payload: nonce})
	if err == nil {
		err = skipTo(reader, nonce)
	}
	if !stop() {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		_ = port.Close()
		return nil, fmt.Errorf("the guest does not answer: %w", err)
	}
	go c.read(reader)
	return c, nil
}

// skipTo reads up to and with the mark.
func skipTo(r *bufio.Reader, mark []byte) error {
	last := make([]byte, 0, 2*len(mark))
	for {
		b, err := r.ReadByte()
		if err != nil {
			return err
		}
		if len(last) == cap(last) {
			last = append(last[:0], last[len(last)-len(mark)+1:]...)
		}
		if last = append(last, b); bytes.HasSuffix(last, mark) {
			return nil
		}
	}
}

// Close ends the session. The guest ends its commands, but for those that stay.
func (c *Client) Close() error { return c.port.Close() }

// Gone is closed when the session has ended, as when the guest has.
func (c *Client) Gone() <-chan struct{} { return c.gone }

// PowerOff asks the guest to end the machine, and does not wait for it.
func (c *Client) PowerOff() error { return c.frames.write(frame{kind: kindPowerOff}) }

// running is a command of this session.
type running struct {
	output, errorOutput *inbox
	input               *window
	outcome             chan outcome
}

// read hands on what the guest sends.
func (c *Client) read(reader *bufio.Reader) {
	var err error
	for {
		var f frame
		if f, err = readFrame(reader); err != nil {
			break
		}
		c.mu.Lock()
		command := c.commands[f.command]
		c.mu.Unlock()
		if command != nil {
			command.handle(f)
		}
	}
	_ = c.port.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = fmt.Errorf("the session with the guest has ended: %w", err)
	for _, command := range c.commands {
		command.abandon()
	}
	close(c.gone)
}

func (r *running) handle(f frame) {
	switch f.kind {
	case kindOutput:
		r.output.put(f.payload)
	case kindError:
		r.errorOutput.put(f.payload)
	case kindAck:
		if of, n, ok := readAck(f.payload); ok && of == kindInput {
			r.input.release(n)
		}
	case kindExit:
		var result outcome
		if err := json.Unmarshal(f.payload, &result); err != nil {
			result = outcome{Code: 127, Failed: err.Error()}
		}
		r.output.end()
		r.errorOutput.end()
		r.input.close()
		select {
		case r.outcome <- result:
		default: // a second outcome is the guest's mistake
		}
	}
}

func (r *running) abandon() {
	r.output.end()
	r.errorOutput.end()
	r.input.close()
}

// Streams are a command's on the host; nil means nothing to read, or nowhere to write.
type Streams struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Resized gives new sizes of the terminal.
	Resized <-chan Terminal
	// Grace is how long a cancelled command may take to end after SIGTERM, before
	// SIGKILL; zero means ten seconds.
	Grace time.Duration
}

const (
	defaultGrace = 10 * time.Second
	// killPatience is for a guest to tell the end of a command that it has killed.
	killPatience = 5 * time.Second
)

// Run runs a command in the guest and returns its exit code. A cancelled context ends
// the command, and is then the error.
func (c *Client) Run(ctx context.Context, request Request, streams Streams) (int, error) {
	result, err := c.run(ctx, request, streams)
	return result.Code, err
}

// Start starts a command that stays when the session ends, and returns its process in
// the guest.
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
	payload, err := json.Marshal(request)
	if err != nil {
		return outcome{}, err
	}
	if len(payload) > maxFrame {
		return outcome{}, fmt.Errorf("a command line of %d bytes is too long for a guest", len(payload))
	}
	number, command, err := c.add()
	if err != nil {
		return outcome{}, err
	}
	defer c.remove(number)
	if err := c.frames.write(frame{kindStart, number, payload}); err != nil {
		return outcome{}, fmt.Errorf("run %s in the guest: %w", request.Argv[0], err)
	}
	go c.send(number, command, streams)
	var taken sync.WaitGroup
	taken.Go(func() { c.take(number, kindOutput, command.output, streams.Stdout) })
	taken.Go(func() { c.take(number, kindError, command.errorOutput, streams.Stderr) })
	result, err := c.wait(ctx, number, command, streams.Grace)
	if err == nil || result.Code != 0 {
		taken.Wait() // what it printed is all there, also of one that was ended
	}
	if err == nil && result.Failed != "" {
		err = &StartError{Command: request.Argv[0], Reason: result.Failed}
	}
	return result, err
}

func (c *Client) add() (uint32, *running, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended != nil {
		return 0, nil, c.ended
	}
	c.next++
	command := &running{
		output: newInbox(), errorOutput: newInbox(), input: newWindow(), outcome: make(chan outcome, 1),
	}
	c.commands[c.next] = command
	return c.next, command, nil
}

func (c *Client) remove(number uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if command := c.commands[number]; command != nil {
		command.abandon()
		delete(c.commands, number)
	}
}

// send gives the guest the command's input. A read that blocks, as of a terminal, keeps
// the goroutine when the command has ended; nothing waits for it.
func (c *Client) send(number uint32, command *running, streams Streams) {
	if streams.Resized != nil {
		go func() {
			for size := range streams.Resized {
				payload := binary.LittleEndian.AppendUint16(nil, size.Rows)
				payload = binary.LittleEndian.AppendUint16(payload, size.Columns)
				if c.frames.write(frame{kindResize, number, payload}) != nil {
					return
				}
			}
		}()
	}
	if streams.Stdin != nil {
		input := stream{c.frames, command.input, kindInput, number}
		if _, err := io.Copy(input, streams.Stdin); errors.Is(err, errClosed) {
			return
		}
	}
	_ = c.frames.write(frame{kindInputEnd, number, nil})
}

// take writes what the command prints. What cannot be written is dropped, so that the
// command ends as it would have.
func (c *Client) take(number uint32, of kind, from *inbox, to io.Writer) {
	broken := to == nil
	for data := from.take(); data != nil; data = from.take() {
		if !broken {
			_, err := to.Write(data)
			broken = err != nil
		}
		if ack(c.frames, number, of, len(data)) != nil {
			broken = true
		}
	}
}

// wait waits for the end of a command, and brings it about when the context ends.
func (c *Client) wait(ctx context.Context, number uint32, command *running, grace time.Duration) (outcome, error) {
	select {
	case result := <-command.outcome:
		return result, nil
	case <-c.gone:
		return c.last(command)
	case <-ctx.Done():
	}
	if grace == 0 {
		grace = defaultGrace
	}
	for _, step := range []struct {
		signal   syscall.Signal
		patience time.Duration
	}{{syscall.SIGTERM, grace}, {syscall.SIGKILL, killPatience}} {
		if err := c.frames.write(frame{kindSignal, number, []byte{byte(step.signal)}}); err != nil {
			return outcome{}, context.Cause(ctx)
		}
		select {
		case result := <-command.outcome:
			return result, context.Cause(ctx)
		case <-c.gone:
			return outcome{}, context.Cause(ctx)
		case <-time.After(step.patience):
		}
	}
	return outcome{}, context.Cause(ctx)
}

// last is the outcome that came just before the session's end, or why there is none.
func (c *Client) last(command *running) (outcome, error) {
	select {
	case result := <-command.outcome:
		return result, nil
	default:
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return outcome{}, c.ended
}
