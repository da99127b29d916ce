package guestagent

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
	// PowerOff ends the machine, on the host's request.
	PowerOff func()
	// Logf logs errors; nil logs nothing.
	Logf func(format string, arguments ...any)
}

// A port without a host is polled: reading it returns at once
// (drivers/char/virtio_console.c, port_fops_read), and so does poll(2). Often soon after a
// session, because the next may follow at once; rarely later, to save the guest's CPU.
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
			_, err = io.Copy(io.Discard, w) // the next host's hello, or the last one's leftovers
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
	// Waits until all reads and writes have ended: they would disturb the next
	// session.
	defer func() { _ = session.Close() }()
	ctx, end := context.WithCancel(context.Background())
	defer end() // for the commands
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
	// Before the outcome, so that the host then has all output.
	_ = c.data.Close()
	_ = c.errors.Close()
	if err := send(c.control, result); err != nil && ctx.Err() == nil {
		s.logf("agent: tell the end of a command: %v", err)
	}
}

// prepare sets a command up as requested, in its own session, so that a signal reaches its
// children too.
func prepare(cmd *exec.Cmd, request Request) *exec.Cmd {
	cmd.Env = append(os.Environ(), request.Env...)
	cmd.Dir = request.Dir
	if cmd.Dir == "" {
		cmd.Dir = "/"
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return cmd
}

// startStaying starts a command without waiting for it: the guest's first process reaps it.
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

// leftOpen is how long to wait for the output of a command that has ended: a process that
// it left behind may keep it open for ever.
const leftOpen = 5 * time.Second

// process is a command with input and output from and to the host.
type process struct {
	*exec.Cmd
	terminal *os.File
	// copied is closed when all of the terminal's output has been sent.
	copied chan struct{}
	ended  atomic.Bool
	// group is true if its process group ends with it.
	group bool
}

// start starts a command, which ends with ctx.
func start(ctx context.Context, request Request, c channels) (*process, error) {
	p := &process{Cmd: prepare(exec.CommandContext(ctx, request.Argv[0], request.Argv[1:]...), request), copied: make(chan struct{}), group: request.Group}
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
		pour(nil, c.data) // it no longer reads; the host may still send
	}()
	return p, nil
}

// startInTerminal is start with a new pseudo terminal as the controlling terminal.
func (p *process) startInTerminal(size Terminal, data io.ReadWriter) (err error) {
	if size.Term != "" {
		p.Env = append(p.Env, "TERM="+size.Term)
	}
	if p.terminal, err = pty.StartWithSize(p.Cmd, size.winsize()); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(p.terminal, data)
		_, _ = p.terminal.Write([]byte{4}) // end of input on a terminal (Ctrl-D)
		pour(nil, data)
	}()
	go func() {
		// Ends with EIO when no process has the terminal open. Without a host it
		// continues to read, so that a command that is being ended does not hang in
		// a write.
		pour(data, p.terminal)
		close(p.copied)
	}()
	return nil
}

func (t Terminal) winsize() *pty.Winsize { return &pty.Winsize{Rows: t.Rows, Cols: t.Columns} }

// handle carries out a request of the host while the command runs.
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

// signal signals the command and its children, unless it has ended.
func (p *process) signal(signal unix.Signal) error {
	if p.ended.Load() {
		return os.ErrProcessDone
	}
	return unix.Kill(-p.Process.Pid, signal)
}

// endGroup waits for the command's end and then ends the others of its group: while it is not reaped, the
// group has its number.
func (p *process) endGroup() {
	for {
		err := unix.Waitid(unix.P_PID, p.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	_ = unix.Kill(-p.Process.Pid, unix.SIGKILL) // all may have ended
}

// wait waits for the command and for the end of its output.
func (p *process) wait() outcome {
	if p.group {
		p.endGroup()
	}
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
