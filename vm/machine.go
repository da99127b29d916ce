package vm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/await"
	"nines.dev/nines/kernel/flock"
	"nines.dev/nines/vm/guestagent"
)

// Machine is a running machine, with a session of its agent.
type Machine struct {
	config Config
	client *guestagent.Client
	lock   *flock.Lock
	// pid is QEMU's PID.
	pid int
	// ended is closed when QEMU has ended; nil for a machine found by Attach.
	ended <-chan struct{}
	said  *bytes.Buffer

	stop    sync.Once
	stopErr error
}

// Command is a machine's QEMU command, for a caller that starts it in another way, for
// example in a network namespace or through a journal; Attach then finds the machine.
func Command(c Config) (*exec.Cmd, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	program, err := FindProgram()
	if err != nil {
		return nil, err
	}
	return exec.Command(program, Arguments(c)...), nil
}

// Start starts a machine and returns when its agent answers. If ctx ends before that, so
// does the machine; later ctx has no effect.
func Start(ctx context.Context, c Config) (*Machine, error) {
	cmd, err := Command(c)
	if err != nil {
		return nil, err
	}
	m := &Machine{config: c, said: &bytes.Buffer{}}
	cmd.Stdout, cmd.Stderr = m.said, m.said
	// A terminal's Ctrl-C must not reach QEMU: Stop ends the machine in order.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if !c.Detached {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
	if m.ended, err = start(cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", Program, err)
	}
	m.pid = cmd.Process.Pid
	if err := m.setNice(); err != nil {
		return nil, errors.Join(err, m.kill())
	}
	ready, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-m.ended:
			cancel(c.Died(m.said.String(), cmd.ProcessState))
		case <-ready.Done():
		}
	}()
	if err := m.connect(ready); err != nil {
		if ctx.Err() == nil { // the end of the agent's socket may be seen first
			select {
			case <-m.ended:
				return nil, c.Died(m.said.String(), cmd.ProcessState)
			case <-time.After(endPatience):
			}
		}
		return nil, errors.Join(err, m.kill())
	}
	return m, nil
}

// Attach finds a running machine, even if another process started it, and returns when its
// agent answers. Stop then ends it as if it had been started here. At most the Config's
// Agents processes can be attached at a time.
func Attach(ctx context.Context, c Config) (*Machine, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	m := &Machine{config: c}
	if err := m.connect(ctx); err != nil {
		return nil, err
	}
	return m, nil
}

// start starts a process that the kernel ends when this one dies, even by SIGKILL. The
// signal comes when the starting thread ends, prctl(2); so that thread waits.
func start(cmd *exec.Cmd) (<-chan struct{}, error) {
	started, ended := make(chan error, 1), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(ended)
	}()
	return ended, <-started
}

// setNice sets the nice value of QEMU's autogroup. QEMU has one of its own, as it has its own session, and so the nice
// values of its threads only count among themselves. A kernel without autogroups has no such file.
func (m *Machine) setNice() error {
	if m.config.Nice == 0 {
		return nil
	}
	err := os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", m.pid), []byte(strconv.Itoa(m.config.Nice)), 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// connect starts a session on the first free port.
func (m *Machine) connect(ctx context.Context) error {
	socket, err := m.claim(ctx)
	if err != nil {
		return err
	}
	conn, err := dial(ctx, socket)
	if err == nil {
		m.client, err = guestagent.Dial(ctx, conn)
	}
	if err != nil {
		_ = m.lock.Free()
		return fmt.Errorf("the machine's agent: %w", err)
	}
	return nil
}

// claim takes a port by locking a file next to its socket; the lock ends with this process.
func (m *Machine) claim(ctx context.Context) (socket string, err error) {
	agents := max(m.config.Agents, 1)
	err = await.Until(ctx, await.Condition{
		What: fmt.Sprintf("one of the %d agents of the machine is free", agents), Every: again,
		Holds: func(context.Context) (err error) {
			for i := range agents {
				socket = m.config.agentSocket(i)
				m.lock, err = flock.Try(socket + ".lock")
				if !errors.As(err, new(*flock.HeldError)) {
					return await.Never(err)
				}
			}
			return err
		},
	})
	return socket, err
}

// dial waits for a socket that QEMU creates when it starts.
func dial(ctx context.Context, path string) (conn net.Conn, err error) {
	err = await.Until(ctx, await.Condition{What: "QEMU serves " + path, Every: again, Holds: func(ctx context.Context) error {
		conn, err = (&net.Dialer{}).DialContext(ctx, "unix", path)
		return err
	}})
	return conn, err
}

// again is the pause before a socket or a lock of a machine is tried again.
const again = 10 * time.Millisecond

// Run runs a command in the guest as root, and returns its exit code. If ctx is cancelled,
// Run ends the command and returns ctx's error.
func (m *Machine) Run(ctx context.Context, argv []string, stdout, stderr io.Writer) (exit int, err error) {
	return m.Do(ctx, guestagent.Request{Argv: argv}, guestagent.Streams{Stdout: stdout, Stderr: stderr})
}

// Do is Run with all options of a command.
func (m *Machine) Do(ctx context.Context, request guestagent.Request, streams guestagent.Streams) (exit int, err error) {
	return m.client.Run(ctx, request, streams)
}

// Spawn starts a command in the guest that outlives this process, and returns its PID in
// the guest.
func (m *Machine) Spawn(ctx context.Context, request guestagent.Request) (pid int, err error) {
	return m.client.Start(ctx, request)
}

// Output runs a command in the guest and returns its output. An exit code other than 0 is
// an error with the command's messages.
func (m *Machine) Output(ctx context.Context, argv ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	code, err := m.Run(ctx, argv, &stdout, &stderr)
	if err == nil && code != 0 {
		err = fmt.Errorf("%s in the guest: exit code %d: %s", strings.Join(argv, " "), code, strings.TrimSpace(stderr.String()))
	}
	return stdout.String(), err
}

// Gone is closed when the session with the guest has ended, for example because the guest
// has.
func (m *Machine) Gone() <-chan struct{} { return m.client.Gone() }

// Config is the machine's configuration.
func (m *Machine) Config() Config { return m.config }

// Close ends the session and leaves the machine running, which must be detached.
func (m *Machine) Close() error {
	return errors.Join(m.client.Close(), m.lock.Free())
}

const (
	// stopPatience is the time that a guest has to write its disks and end.
	stopPatience = 10 * time.Second
	// endPatience is the time that QEMU has to end after its guest.
	endPatience = time.Second
	// killPatience is the time that QEMU has to die after SIGKILL.
	killPatience = 10 * time.Second
)

// Stop ends the machine: it asks the guest, and kills QEMU if the guest takes too long. It
// returns when QEMU has ended, and may be called again.
func (m *Machine) Stop() error {
	m.stop.Do(func() {
		_ = m.client.PowerOff()
		select {
		case <-m.client.Gone():
		case <-time.After(stopPatience):
		}
		m.stopErr = m.kill()
		_ = m.client.Close()
		_ = m.lock.Free()
	})
	return m.stopErr
}

// kill ends QEMU, if it has not ended by itself.
func (m *Machine) kill() error {
	if m.ended == nil {
		return m.quit()
	}
	select {
	case <-m.ended:
		return nil
	case <-time.After(endPatience):
	}
	_ = unix.Kill(m.pid, unix.SIGKILL) // our child, not reaped yet, so the PID is still its own
	select {
	case <-m.ended:
		return nil
	case <-time.After(killPatience):
		return fmt.Errorf("%s (process %d) does not die", Program, m.pid)
	}
}

// Died says why a machine ended before its agent answered; said is QEMU's output, and state how it ended; nil: not known.
func (c Config) Died(said string, state *os.ProcessState) error {
	died := &DiedError{Said: strings.TrimSpace(said), Console: consoleEnd(c.ConsoleLog())}
	if state != nil && !state.Success() {
		died.How = state.String()
	}
	return died
}

// DiedError says that a machine ended by itself.
type DiedError struct {
	// Said is QEMU's output, Console the last lines of the guest's console.
	Said, Console string
	// How is QEMU's signal or exit code; empty if it is not known, or 0.
	How string
}

func (e *DiedError) Error() string {
	text := "the virtual machine has ended before its guest was ready"
	if e.How != "" {
		text += " (" + e.How + ")"
	}
	if e.Said != "" {
		text += "; QEMU said: " + e.Said
	}
	if e.Console != "" {
		text += "; its console's last lines:\n" + e.Console
	}
	return text
}

// consoleEnd is the end of a guest's console log: what led to a panic and what follows it, or the last
// lines; empty if it cannot be read.
func consoleEnd(path string) string {
	const most = 12
	older, _ := os.ReadFile(filepath.Clean(path + ".1")) // most machines have none
	text, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return ""
	}
	text = append(older, text...)
	lines := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(text), "\r", "")), "\n")
	panicked := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, "Kernel panic") })
	if panicked >= 0 {
		end := lines[panicked:min(len(lines), panicked+most)]
		// The kernel numbers its faults, and the first is the cause.
		if fault := slices.IndexFunc(lines[:panicked], func(line string) bool { return strings.Contains(line, "[#1]") }); fault >= 0 {
			end = slices.Concat(lines[fault:fault+1], end)
		}
		return strings.Join(end, "\n")
	}
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}
