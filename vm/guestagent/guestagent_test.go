package guestagent

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// join returns a client of a server in this process.
func join(t *testing.T) *Client {
	t.Helper()
	host, guest := net.Pipe()
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = (&Server{}).Serve(guest)
	}()
	c, err := Dial(t.Context(), host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Close()
		_ = guest.Close()
		<-served
	})
	return c
}

func TestACommandHasItsStreamsAndItsExitCode(t *testing.T) {
	c := join(t)
	var stdout, stderr bytes.Buffer
	code, err := c.Run(t.Context(), Request{
		Argv: []string{"sh", "-c", `tr a-z A-Z; pwd; echo "$GREETING" >&2; exit 7`}, Dir: "/usr", Env: []string{"GREETING=bye"},
	}, Streams{Stdin: strings.NewReader("hello\n"), Stdout: &stdout, Stderr: &stderr})
	if err != nil || code != 7 || stdout.String() != "HELLO\n/usr\n" || stderr.String() != "bye\n" {
		t.Errorf("got %d, %v, %q, %q", code, err, &stdout, &stderr)
	}
}

func TestMuchDataPassesWhole(t *testing.T) {
	c := join(t)
	data := make([]byte, 5<<20)
	for i := range data {
		data[i] = byte(rand.Uint32())
	}
	var back bytes.Buffer
	if code, err := c.Run(t.Context(), Request{Argv: []string{"cat"}}, Streams{Stdin: bytes.NewReader(data), Stdout: &back}); code != 0 || err != nil {
		t.Fatal(code, err)
	}
	if !bytes.Equal(data, back.Bytes()) {
		t.Errorf("sent %d bytes, got %d, and others", len(data), back.Len())
	}
}

// Unread output of one command must not block another.
func TestCommandsDoNotHoldUpEachOther(t *testing.T) {
	c := join(t)
	reader, writer := io.Pipe() // not read until later
	slow := make(chan int, 1)
	go func() {
		code, _ := c.Run(t.Context(), Request{Argv: []string{"head", "-c", "3000000", "/dev/zero"}}, Streams{Stdout: writer})
		_ = writer.Close()
		slow <- code
	}()
	for range 3 {
		var out bytes.Buffer
		if code, err := c.Run(t.Context(), Request{Argv: []string{"echo", "quick"}}, Streams{Stdout: &out}); code != 0 || err != nil || out.String() != "quick\n" {
			t.Fatal(code, err, out.String())
		}
	}
	n, err := io.Copy(io.Discard, reader)
	if code := <-slow; n != 3000000 || err != nil || code != 0 {
		t.Errorf("the slow one: %d bytes, %v, code %d", n, err, code)
	}
}

func TestInputThatIsNotReadEndsWithTheCommand(t *testing.T) {
	c := join(t)
	endless := &zeros{}
	if code, err := c.Run(t.Context(), Request{Argv: []string{"true"}}, Streams{Stdin: endless}); code != 0 || err != nil {
		t.Error(code, err)
	}
}

type zeros struct{}

func (*zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestACancelledCommandEnds(t *testing.T) {
	c := join(t)
	file := filepath.Join(t.TempDir(), "cleaned")
	ctx, cancel := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	go func() {
		_, _ = reader.Read(make([]byte, 16)) // the trap is set
		cancel()
	}()
	_, err := c.Run(ctx, Request{Argv: []string{"sh", "-c", `trap 'touch "$0"; exit 3' TERM; echo ready; while :; do sleep 0.05; done`, file}}, Streams{Stdout: writer})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Error("it was not asked to end:", err)
	}
	// The session continues.
	if code, err := c.Run(t.Context(), Request{Argv: []string{"true"}}, Streams{}); code != 0 || err != nil {
		t.Error(code, err)
	}
}

// A process that a command leaves behind keeps the output open, but the command ends all
// the same.
func TestWhatACommandLeavesBehindHoldsUpNobody(t *testing.T) {
	c := join(t)
	var out bytes.Buffer
	code, err := c.Run(t.Context(), Request{Argv: []string{"sh", "-c", "sleep 3600 & echo $!; exit 4"}}, Streams{Stdout: &out})
	if code != 4 || err != nil {
		t.Error(code, err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(out.String()))
	if err != nil {
		t.Fatal(err)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

func TestACommandThatCannotStart(t *testing.T) {
	c := join(t)
	_, err := c.Run(t.Context(), Request{Argv: []string{"/no/such"}}, Streams{})
	var start *StartError
	if !errors.As(err, &start) || start.Command != "/no/such" {
		t.Errorf("error %v", err)
	}
}

func TestASignalIsAnExitCode(t *testing.T) {
	c := join(t)
	if code, err := c.Run(t.Context(), Request{Argv: []string{"sh", "-c", "kill -9 $$"}}, Streams{}); code != 137 || err != nil {
		t.Error(code, err)
	}
}

func TestATerminal(t *testing.T) {
	c := join(t)
	var out bytes.Buffer
	code, err := c.Run(t.Context(), Request{Argv: []string{"sh", "-c", "tty && stty size && echo $TERM"}, Terminal: &Terminal{Rows: 40, Columns: 90, Term: "vt100"}}, Streams{Stdout: &out})
	lines := strings.Split(out.String(), "\r\n")
	if code != 0 || err != nil || len(lines) != 4 || !strings.HasPrefix(lines[0], "/dev/pts/") || lines[1] != "40 90" || lines[2] != "vt100" {
		t.Errorf("%d %v %q", code, err, lines)
	}
}

func TestACommandThatStays(t *testing.T) {
	c := join(t)
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	pid, err := c.Start(t.Context(), Request{Argv: []string{"sh", "-c", "echo $$"}, Log: log})
	if err != nil || pid == 0 {
		t.Fatal(pid, err)
	}
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if text, _ := os.ReadFile(log); len(text) > 0 {
			return
		}
	}
	t.Error("it printed nothing")
}

// A port still holds what the previous host sent and did not read.
func TestASessionBeginsAnew(t *testing.T) {
	host, guest := net.Pipe()
	defer host.Close()
	defer guest.Close()
	go func() {
		// The guest sends the middle of a frame, and then gets the hello.
		_, _ = guest.Write(bytes.Repeat([]byte{0x55}, 100))
		_ = (&Server{}).Serve(guest)
	}()
	c, err := dialReading(t, host)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if code, err := c.Run(t.Context(), Request{Argv: []string{"echo", "new"}}, Streams{Stdout: &out}); code != 0 || err != nil || out.String() != "new\n" {
		t.Error(code, err, out.String())
	}
}

// dialReading dials over a pipe, which unlike a port has no buffer: its ends must not both
// write.
func dialReading(t *testing.T, host net.Conn) (*Client, error) {
	local, remote := net.Pipe()
	go func() { _, _ = io.Copy(remote, host); _ = remote.Close() }()
	go func() { _, _ = io.Copy(host, remote) }()
	return Dial(t.Context(), local)
}

func TestDialEndsWithItsContext(t *testing.T) {
	host, guest := net.Pipe()
	defer guest.Close()
	go func() { _, _ = io.Copy(io.Discard, guest) }() // never answers
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Dial(ctx, host); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

// seat is one host's end of a port that several hosts use in turn.
type seat struct {
	io.Reader
	io.Writer
	io.Closer
}

// A host may die in the middle of a frame, and another one connect before the guest
// notices: the first host's commands end.
func TestAnotherHostTakesOver(t *testing.T) {
	guestReads, hostsWrite := io.Pipe()
	firstReads, toFirst := io.Pipe()
	secondReads, toSecond := io.Pipe()
	var now atomic.Pointer[io.PipeWriter]
	now.Store(toFirst)
	go func() {
		_ = (&Server{}).Serve(struct {
			io.Reader
			io.Writer
		}{guestReads, writerFunc(func(data []byte) (int, error) { return now.Load().Write(data) })})
	}()
	first, err := Dial(t.Context(), seat{firstReads, writerFunc(func(data []byte) (int, error) {
		if now.Load() != toFirst { // the first is dead
			return 0, io.ErrClosedPipe
		}
		return hostsWrite.Write(data)
	}), firstReads})
	if err != nil {
		t.Fatal(err)
	}
	output, writer := io.Pipe()
	go func() {
		_, _ = first.Run(t.Context(), Request{Argv: []string{"sh", "-c", "echo $$; exec sleep 3600"}}, Streams{Stdout: writer})
	}()
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	now.Store(toSecond)
	// yamux: data for the first command, 4096 bytes of which all but one are missing.
	if _, err := hostsWrite.Write([]byte{0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0x10, 0, 'x'}); err != nil {
		t.Fatal(err)
	}
	second, err := Dial(t.Context(), seat{secondReads, hostsWrite, secondReads})
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if code, err := second.Run(t.Context(), Request{Argv: []string{"true"}}, Streams{}); code != 0 || err != nil {
		t.Error(code, err)
	}
	for deadline := time.Now().Add(10 * time.Second); syscall.Kill(pid, 0) == nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the first host's command goes on")
		}
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(data []byte) (int, error) { return f(data) }

func TestANewSizeReachesTheTerminal(t *testing.T) {
	c := join(t)
	out, writer := io.Pipe()
	sizes := make(chan Terminal)
	go func() {
		_, err := c.Run(t.Context(), Request{
			Argv:     []string{"sh", "-c", `trap 'stty size; exit 0' WINCH; echo ready; while :; do sleep 0.05; done`},
			Terminal: &Terminal{Rows: 24, Columns: 80},
		}, Streams{Stdout: writer, Resized: sizes})
		_ = writer.CloseWithError(err)
	}()
	lines := bufio.NewScanner(out)
	lines.Scan()
	sizes <- Terminal{Rows: 50, Columns: 132}
	close(sizes)
	if lines.Scan(); lines.Text() != "50 132" {
		t.Errorf("%q %v", lines.Text(), lines.Err())
	}
}

// FuzzHello: a hello is found after any earlier data, and in any number of pieces.
func FuzzHello(f *testing.F) {
	f.Add([]byte("some data"), uint8(3))
	f.Add([]byte{}, uint8(255))
	f.Fuzz(func(t *testing.T, before []byte, piece uint8) {
		hello := newHello()
		w := &watched{ReadWriter: bytes.NewBuffer(append(bytes.Clone(before), hello...))}
		var err error
		for buffer := make([]byte, int(piece)+1); err == nil; {
			_, err = w.Read(buffer)
		}
		if !errors.Is(err, errHello) {
			t.Fatal(err)
		}
		if nonce := w.take(); !bytes.Equal(nonce, hello[len(mark):]) {
			t.Errorf("%x is not of %x", nonce, hello)
		}
	})
}
