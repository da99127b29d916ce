package jitter

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/measure/steal"
)

// Options say what to measure.
type Options struct {
	CPUs     []int
	Duration time.Duration
	// Engine is the path of nines-engine.
	Engine string
	// Progress receives the elapsed part of the duration; may be nil.
	Progress func(done, of time.Duration)
}

// wantedSlices is the number of slices; a short measurement has fewer, of one second each.
const wantedSlices = 12

// Run measures all CPUs at the same time. If ctx ends, it returns ctx's error.
func Run(ctx context.Context, o Options) (Check, error) {
	engine, err := StartEngine(o.Engine)
	if err != nil {
		return Check{}, err
	}
	check, err := run(ctx, engine.Client, o)
	if ended := engine.End(); ended != nil && err == nil {
		err = ended
	}
	return check, err
}

func run(ctx context.Context, engine *client.Client, o Options) (Check, error) {
	check := Check{Started: time.Now().UTC(), Duration: o.Duration}
	cpus := make([]gathered, len(o.CPUs))
	for i, cpu := range o.CPUs {
		cpus[i] = gathered{CPU: CPU{CPU: cpu}, counts: map[int64]uint64{}}
	}
	slice := max(o.Duration/wantedSlices, time.Second)
	before, err := steal.Read("/")
	if err != nil {
		return check, err
	}
	for done := time.Duration(0); done < o.Duration; {
		length := min(slice, o.Duration-done)
		if err := engine.Watch(o.CPUs); err != nil {
			return check, err
		}
		waited := wait(ctx, length, func(part time.Duration) {
			if o.Progress != nil {
				o.Progress(done+part, o.Duration)
			}
		})
		watched, err := engine.StopWatch()
		if err := errors.Join(waited, err); err != nil {
			return check, err
		}
		for i, w := range watched {
			cpus[i].add(w)
			check.Scheduling = w.Scheduling
		}
		done += length
	}
	after, err := steal.Read("/")
	if err != nil {
		return check, err
	}
	for _, cpu := range cpus {
		summary := cpu.summary()
		summary.StealNs = (after[summary.CPU] - before[summary.CPU]).Nanoseconds()
		check.CPUs = append(check.CPUs, summary)
	}
	return check, nil
}

// wait reports the elapsed time every second.
func wait(ctx context.Context, length time.Duration, tell func(time.Duration)) error {
	end := time.NewTimer(length)
	defer end.Stop()
	second := time.NewTicker(time.Second)
	defer second.Stop()
	for start := time.Now(); ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-end.C:
			return nil
		case now := <-second.C:
			tell(now.Sub(start))
		}
	}
}

// Engine is an engine of this host, controlled through its standard input.
type Engine struct {
	*client.Client
	PID   int
	cmd   *exec.Cmd
	input io.Closer
	said  bytes.Buffer
}

// StartEngine starts the program and exchanges greetings.
func StartEngine(path string) (*Engine, error) { return startEngine(path, 0) }

// StartEngineApart starts it in a network namespace of its own, which ends with it.
func StartEngineApart(path string) (*Engine, error) { return startEngine(path, syscall.CLONE_NEWNET) }

func startEngine(path string, namespaces uintptr) (*Engine, error) {
	e := &Engine{cmd: exec.Command(path)}
	input, err := e.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the engine: %w", err)
	}
	output, err := e.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start the engine: %w", err)
	}
	e.cmd.Stderr = &e.said
	// A Ctrl-C in the terminal must reach nines only; the engine ends when its input closes.
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Cloneflags: namespaces}
	if err := e.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the engine: %w", err)
	}
	e.input, e.PID = input, e.cmd.Process.Pid
	e.Client = client.New(output, input, input)
	if _, err := e.Hello(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the engine: %w", err), e.End())
	}
	return e, nil
}

// End closes the engine's input, which ends the engine.
func (e *Engine) End() error {
	_ = e.input.Close()
	if err := e.cmd.Wait(); err != nil {
		return fmt.Errorf("the engine ended with %w: %s", err, strings.TrimSpace(e.said.String()))
	}
	return nil
}
