package agent

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/creack/pty"
	"github.com/hashicorp/yamux"
	"golang.org/x/sys/unix"
)

// Server is the guest's side.
type Server struct {
	// PowerOff ends the machine, when the host asks for it.
	PowerOff func()
	// Logf tells what went wrong; nil means nobody.
	Logf func(format string, arguments ...any)
}

// A port without a host is looked at now and then: reading it returns at once
// (drivers/char/virtio_console.c, port_fops_read), and so does poll(2). Soon after a
// session often, for the next may come at once; later seldom, for a guest's CPU has
// better to do.
const (
	firstPoll = 10 * time.Millisecond
	lastPoll  = 500 * time.Millisecond
)

// Serve answers sessions on a port, one after another, until reading it fails.
func (s *Server) Serve(port io.ReadWriter) error {
	w := &watched{ReadWriter: port}
	for interval := firstPoll; ; interval = min(2*interval, lastPoll) {
		_, err := io.Copy(io.Discard, w)
		for errors.Is(err, errHello) {
			s.session(w)
			interval = firstPoll
			_, err = io.Copy(io.Discard, w) // the next host's hello, or what the last one left
		}
		if err != nil {
			s.logf("agent: %v", err)
			return err
		}
		time.Sleep(interval)
	}
}

func (s *Server) logf(format string, arguments ...any) {
	if s.Logf != nil {
		s.Logf(format, arguments...)
	}
}

// session serves one host until it goes, or another one comes.
func (s *Server) session(w *watched) {
	if _, err := w.Write(w.take()); err != nil {
		s.logf("agent: %v", err)
		return
	}
	session, err := yamux.Server(w, sessionConfig())
	if err != nil {
		s.logf("agent: %v", err)
		return
	}
	// Waits until nothing is read or written any more: the next session must not meet it.
	defer func() { _ = session.Close() }()
	ctx, end := context.WithCancel(context.Background())
	defer end() // of the commands
	for {
		command, err := newChannels(session.AcceptStream)
		if err != nil {
			return
		}
		go s.serve(ctx, command)
	}
}

// serve runs one command of a session.
func (s *Server) serve(ctx context.Context, c channels) {
	defer c.close()
	messages := bufio.NewScanner(c.control)
	messages.Buffer(nil, maxMessage)
	next := func() (m message, err error) {
		if !messages.Scan() {
			return m, errSession
		}
		return m, json.Unmarshal(messages.Bytes(), &m)
	}
	first, err := next()
	if first.PowerOff {
		s.PowerOff()
	}
	var result outcome
	var p *process
	switch request := first.Start; {
	case err != nil:
	case request == nil || len(request.Argv) == 0:
		err = errors.New("no command")
	case request.Stay:
		result.PID, err = startStaying(*request)
	default:
		p, err = start(ctx, *request, c)
	}
	if p != nil {
		go func() {
			for m, err := next(); err == nil; m, err = next() {
				p.handle(m)
			}
		}()
		result = p.wait()
	}
	if err != nil {
		result = unstarted(err)
	}
	// Before the outcome, so that the host has all output when it has that.
	_ = c.data.Close()
	_ = c.errors.Close()
	if err := send(c.control, result); err != nil && ctx.Err() == nil {
		s.logf("agent: tell the end of a command: %v", err)
	}
}

// prepare gives a command what the request asks for, in a session of its own, so that a
// signal reaches its children too.
func prepare(cmd *exec.Cmd, request Request) *exec.Cmd {
	cmd.Env = append(os.Environ(), request.Env...)
	cmd.Dir = request.Dir
	if cmd.Dir == "" {
		cmd.Dir = "/"
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// startStaying starts a command that nobody waits for: the guest's first process reaps.
func startStaying(request Request) (int, error) {
	cmd := prepare(exec.Command(request.Argv[0], request.Argv[1:]...), request)
	if request.Log != "" {
		log, err := os.OpenFile(request.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		if err != nil {
			return 0, err
		}
		defer log.Close()
		cmd.Stdout, cmd.Stderr = log, log
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	go func() { _ = cmd.Wait() }()
	return cmd.Process.Pid, nil
}

// leftOpen is how long the output of a command that has ended is waited for: a process
// that it has left behind may have it open for ever.
const leftOpen = 5 * time.Second

// process is a command whose input and output are the host's.
type process struct {
	*exec.Cmd
	terminal *os.File
	// copied is closed when the terminal's output is all on its way.
	copied chan struct{}
	ended  atomic.Bool
}

// start starts a command, which the end of the context ends.
func start(ctx context.Context, request Request, c channels) (*process, error) {
	p := &process{Cmd: prepare(exec.CommandContext(ctx, request.Argv[0], request.Argv[1:]...), request), copied: make(chan struct{})}
	p.Cancel = func() error { return p.signal(unix.SIGKILL) }
	p.WaitDelay = leftOpen
	if request.Terminal != nil {
		if err := p.startInTerminal(*request.Terminal, c.data); err != nil {
			return nil, err
		}
		return p, nil
	}
	p.Stdout, p.Stderr = c.data, c.errors
	input, err := p.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := p.Start(); err != nil {
		return nil, err
	}
	go func() {
		_, _ = io.Copy(input, c.data)
		_ = input.Close()
		pour(nil, c.data) // it reads no more; the host may go on sending
	}()
	return p, nil
}

// startInTerminal is start with a new pseudo terminal as the command's controlling one.
func (p *process) startInTerminal(size Terminal, data io.ReadWriter) (err error) {
	if size.Term != "" {
		p.Env = append(p.Env, "TERM="+size.Term)
	}
	if p.terminal, err = pty.StartWithSize(p.Cmd, size.winsize()); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(p.terminal, data)
		_, _ = p.terminal.Write([]byte{4}) // a terminal has no other end of input
		pour(nil, data)
	}()
	go func() {
		// Ends with EIO when nobody has the terminal open. When the host has gone it reads on,
		// so that a command that is being ended does not hang in a write.
		pour(data, p.terminal)
		close(p.copied)
	}()
	return nil
}

func (t Terminal) winsize() *pty.Winsize { return &pty.Winsize{Rows: t.Rows, Cols: t.Columns} }

// handle does what the host asks for while the command runs.
func (p *process) handle(m message) {
	if m.Signal != 0 {
		_ = p.signal(unix.Signal(m.Signal))
	}
	if m.Resize != nil && p.terminal != nil {
		_ = pty.Setsize(p.terminal, m.Resize.winsize())
	}
}

// unstarted is the outcome of a command that could not be started.
func unstarted(err error) outcome {
	return outcome{Code: 127, Failed: err.Error(), NotFound: errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist)}
}

// signal reaches the command and its children, unless it has ended.
func (p *process) signal(signal unix.Signal) error {
	if p.ended.Load() {
		return os.ErrProcessDone
	}
	return unix.Kill(-p.Process.Pid, signal)
}

// wait waits for the command and for the end of its output.
func (p *process) wait() outcome {
	err := p.Wait()
	p.ended.Store(true)
	if p.terminal != nil {
		select {
		case <-p.copied:
		case <-time.After(leftOpen):
		}
		_ = p.terminal.Close()
	}
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return outcome{}
	case !errors.As(err, &exit):
		return unstarted(err)
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return outcome{Code: 128 + int(status.Signal())}
	}
	return outcome{Code: exit.ExitCode()}
}
