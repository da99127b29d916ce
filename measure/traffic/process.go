package traffic

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/kernel/proc"
)

// exitWait is how long an engine gets to exit after its input closes. It needs milliseconds itself,
// but freeing gigabytes of recordings takes the kernel seconds under emulation, or at a low
// priority on a busy host. An engine that never exits is a bug, so this limits the wait.
const exitWait = 20 * time.Second

// process is a child engine, controlled through its standard input.
type process struct {
	*client.Client
	cmd     *exec.Cmd
	input   io.Closer
	log     lockedBuffer
	stopped bool
	// itself is the engine, as the kernel's log names it: the command's child where that enters a PID namespace.
	itself proc.Identity
	// guest is true for an engine in a virtual machine or on a cluster, which has a clock of its own.
	guest bool
	// began is when the last trial was about to begin.
	began moment
	// listed gets the answers to what is asked of a running trial.
	listed chan listed
}

// start runs cmd, which must be an engine, and exchanges greetings. The child gets its own process
// group, so that a Ctrl-C in the terminal reaches only nines, which ends the trial properly.
func start(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd, listed: make(chan listed, 1)}
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the engine: %w", err)
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the engine: %w", err)
	}
	cmd.Stderr = &p.log
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the engine %s: %w", cmd.Path, err)
	}
	p.input = input
	p.Client = client.New(output, input, input)
	greeted := p.watchBirth()
	_, err = p.Hello()
	greeted()
	if err != nil {
		return nil, p.explain(fmt.Errorf("start the engine: %w", err), p.stop())
	}
	return p, nil
}

// watchBirth finds the engine itself while it starts, as it may end before it has greeted; the caller ends that.
func (p *process) watchBirth() (end func()) {
	command, err := proc.Of(p.cmd.Process.Pid)
	if err != nil {
		return func() {} // the kernel's log is then of no use
	}
	p.itself = command
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for pause := time.Millisecond; p.itself == command; pause = min(2*pause, 100*time.Millisecond) {
			p.itself = command.Child()
			select {
			case <-ended:
				return
			case <-time.After(pause):
			}
		}
	}()
	return func() { close(ended); <-done }
}

// explain adds to a connection's error how the engine ended, what the kernel says of that, and its last output.
func (p *process) explain(err, ended error) error {
	if ended != nil {
		err = fmt.Errorf("%w; it ended with %w", err, ended)
		if kernel := p.itself.Ending(); kernel != "" {
			err = fmt.Errorf("%w; %s", err, kernel)
		}
	}
	if said := strings.TrimSpace(p.log.tail(400)); said != "" {
		err = fmt.Errorf("%w; its last output: %s", err, said)
	}
	return err
}

// stop closes the engine's input, on which it exits, and kills it if it does not.
func (p *process) stop() error {
	closeErr := p.input.Close()
	done := make(chan error, 1)
	go func() { done <- p.cmd.Wait() }()
	select {
	case err := <-done:
		return err
	case <-time.After(exitWait):
		if err := p.cmd.Process.Kill(); err != nil {
			return fmt.Errorf("kill an engine that did not end: %w (%w)", err, closeErr)
		}
		return fmt.Errorf("it did not end within %v of its input and was killed: %w", exitWait, <-done)
	}
}

// abortOn aborts the engine's trial when ctx ends; the returned function stops watching ctx.
func (p *process) abortOn(ctx context.Context) (release func() bool) {
	return context.AfterFunc(ctx, func() {
		// An engine that is gone has ended its trial: Trial reports that.
		_ = p.Abort()
	})
}

// events handles a trial's events: its progress, and its start, which also goes to the tracer and to begun. If
// ctx ended before the trial reached the engine, nothing was aborted yet: then it is aborted here.
func (p *process) events(ctx context.Context, progress func(client.Progress), traced *Tracing, begun func(startNs int64)) client.Events {
	return client.Events{Progress: progress, Interruptions: p.hear, Started: func(s client.Started) {
		p.began = momentOf(s, p.guest)
		if ctx.Err() != nil {
			_ = p.Abort() // as in abortOn
		}
		if begun != nil {
			begun(hostStart(s, p.guest))
		}
		if traced != nil {
			traced.Started(p.cmd.Process.Pid, s)
		}
	}}
}

// lockedBuffer takes the engine's log while others read it. It keeps the last maxLogBytes, so a
// chatty engine cannot fill memory.
type lockedBuffer struct {
	mu    sync.Mutex
	bytes bytes.Buffer
}

const maxLogBytes = 1 << 20

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bytes.Write(p)
	if over := b.bytes.Len() - maxLogBytes; over > 0 {
		b.bytes.Next(over)
	}
	return len(p), nil
}

func (b *lockedBuffer) tail(n int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := b.bytes.Bytes()
	return string(all[max(0, len(all)-n):])
}
