package agent

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

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
	first := make([]byte, 1)
	for interval := firstPoll; ; interval = min(2*interval, lastPoll) {
		n, err := port.Read(first)
		if n == 1 {
			err = s.session(&resumed{first: first, ReadWriter: port})
			first, interval = make([]byte, 1), firstPoll
		}
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			s.logf("agent: %v", err)
			return err
		}
		time.Sleep(interval)
	}
}

// resumed is a port whose first byte has been read.
type resumed struct {
	first []byte
	io.ReadWriter
}

func (r *resumed) Read(p []byte) (int, error) {
	if len(r.first) == 0 || len(p) == 0 {
		return r.ReadWriter.Read(p)
	}
	n := copy(p, r.first)
	r.first = r.first[n:]
	return n, nil
}

func (s *Server) logf(format string, arguments ...any) {
	if s.Logf != nil {
		s.Logf(format, arguments...)
	}
}

// session serves one host until it goes.
func (s *Server) session(port io.ReadWriter) error {
	frames := &frameWriter{w: port}
	commands := map[uint32]*served{}
	end := func() {
		for _, c := range commands {
			c.abandon()
		}
		commands = map[uint32]*served{}
	}
	defer end()
	reader := bufio.NewReaderSize(port, 64<<10)
	for {
		f, err := readFrame(reader)
		if err != nil {
			return err
		}
		switch f.kind {
		case kindHello:
			end() // of a host that went unseen
			if err := frames.write(f); err != nil {
				return err
			}
		case kindStart:
			commands[f.command] = s.start(frames, f)
		case kindPowerOff:
			s.PowerOff()
		default:
			if c := commands[f.command]; c != nil {
				c.handle(f)
			}
		}
	}
}

// served is a command of a session.
type served struct {
	process  *os.Process
	terminal *os.File
	input    *inbox
	windows  map[kind]*window
	done     chan struct{}
}

// start runs a command. One that cannot be started has an outcome that says so.
func (s *Server) start(frames *frameWriter, f frame) *served {
	c := &served{
		input:   newInbox(),
		windows: map[kind]*window{kindOutput: newWindow(), kindError: newWindow()},
		done:    make(chan struct{}),
	}
	var request Request
	err := json.Unmarshal(f.payload, &request)
	if err == nil && len(request.Argv) == 0 {
		err = errors.New("no command")
	}
	var result outcome
	var wait func() outcome
	if err == nil && request.Stay {
		result.PID, err = startStaying(request)
	} else if err == nil {
		wait, err = c.run(frames, f.command, request)
	}
	if err != nil {
		result = outcome{Code: 127, Failed: err.Error()}
	}
	go func() {
		defer close(c.done)
		if wait != nil {
			result = wait()
		}
		payload, _ := json.Marshal(result)
		if err := frames.write(frame{kindExit, f.command, payload}); err != nil {
			s.logf("agent: tell the end of a command: %v", err)
		}
	}()
	return c
}

// command is the process that a request asks for, in a session of its own, so that
// a signal reaches its children too.
func command(request Request) *exec.Cmd {
	cmd := exec.Command(request.Argv[0], request.Argv[1:]...)
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
	cmd := command(request)
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

// run starts a command whose input and output are the host's. What it returns waits for
// the command, and for the end of its output.
func (c *served) run(frames *frameWriter, number uint32, request Request) (func() outcome, error) {
	cmd := command(request)
	output := stream{frames, c.windows[kindOutput], kindOutput, number}
	if request.Terminal != nil {
		return c.runInTerminal(cmd, frames, number, output, *request.Terminal)
	}
	cmd.Stdout, cmd.Stderr = output, stream{frames, c.windows[kindError], kindError, number}
	cmd.WaitDelay = leftOpen
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c.process = cmd.Process
	go feed(c.input, input, frames, number, func() { _ = input.Close() })
	// Waited for from now on, lest it be taken for an orphan.
	return func() outcome { return ended(cmd.Wait()) }, nil
}

// feed gives a command what arrives for it, until it or the input ends.
func feed(from *inbox, to io.Writer, frames *frameWriter, number uint32, closeInput func()) {
	defer closeInput()
	broken := false
	for data := from.take(); data != nil; data = from.take() {
		if !broken {
			_, err := to.Write(data)
			broken = err != nil // it reads no more; the host may go on sending
		}
		if ack(frames, number, kindInput, len(data)) != nil {
			return
		}
	}
}

// ended is the outcome of what Wait returned.
func ended(err error) outcome {
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay), errors.Is(err, errClosed): // the host reads no more
		return outcome{}
	case !errors.As(err, &exit):
		return outcome{Code: 127, Failed: err.Error()}
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return outcome{Code: 128 + int(status.Signal())}
	}
	return outcome{Code: exit.ExitCode()}
}

// handle takes a frame for a command that has been started.
func (c *served) handle(f frame) {
	switch f.kind {
	case kindInput:
		c.input.put(f.payload)
	case kindInputEnd:
		c.input.end()
	case kindSignal:
		if len(f.payload) == 1 {
			c.signal(unix.Signal(f.payload[0]))
		}
	case kindResize:
		if len(f.payload) == 4 && c.terminal != nil {
			_ = unix.IoctlSetWinsize(int(c.terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{
				Row: binary.LittleEndian.Uint16(f.payload), Col: binary.LittleEndian.Uint16(f.payload[2:]),
			})
		}
	case kindAck:
		if of, n, ok := readAck(f.payload); ok && c.windows[of] != nil {
			c.windows[of].release(n)
		}
	}
}

// signal reaches the command and its children, unless it has ended.
func (c *served) signal(signal unix.Signal) {
	select {
	case <-c.done:
	default:
		if c.process != nil {
			_ = unix.Kill(-c.process.Pid, signal)
		}
	}
}

// abandon ends a command whose host has gone.
func (c *served) abandon() {
	c.signal(unix.SIGKILL)
	c.input.kill()
	for _, w := range c.windows {
		w.close()
	}
}

// runInTerminal is run with a new pseudo terminal as the command's controlling one.
func (c *served) runInTerminal(cmd *exec.Cmd, frames *frameWriter, number uint32, output io.Writer, size Terminal) (func() outcome, error) {
	master, slave, err := openTerminal(size)
	if err != nil {
		return nil, err
	}
	defer slave.Close()
	if size.Term != "" {
		cmd.Env = append(cmd.Env, "TERM="+size.Term)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr.Setctty = true
	if err := cmd.Start(); err != nil {
		_ = master.Close()
		return nil, err
	}
	c.process, c.terminal = cmd.Process, master
	// A terminal has no end of input but the character for it.
	go feed(c.input, master, frames, number, func() { _, _ = master.Write([]byte{4}) })
	copied := make(chan struct{})
	go func() {
		// Ends with EIO when nobody has the slave open. When the host has gone it reads on,
		// so that a command that is being ended does not hang in a write.
		if _, err := io.Copy(output, master); errors.Is(err, errClosed) {
			_, _ = io.Copy(io.Discard, master)
		}
		close(copied)
	}()
	return func() outcome {
		result := ended(cmd.Wait())
		select {
		case <-copied:
		case <-time.After(leftOpen):
		}
		_ = master.Close()
		return result
	}, nil
}

// openTerminal is openpty(3).
func openTerminal(size Terminal) (master, slave *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: size.Rows, Col: size.Columns})
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		_ = master.Close()
		return nil, nil, fmt.Errorf("open a terminal: %w", err)
	}
	return master, slave, nil
}
