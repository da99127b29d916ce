package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"

	"nines.dev/nines/lab/node"
)

// wholeHost is other work on the whole host, as nines-disturb makes it, without pause and once per
// CPU: the kernel places it where it finds room.
var wholeHost = [][]string{
	{"--kind", "spin", "--period", "100ms", "--length", "100ms"},
	{"--kind", "fork", "--period", "100ms", "--length", "100ms"},
	{"--kind", "softirq", "--period", "500us", "--length", "100us"},
	{"--kind", "timers", "--period", "2ms", "--length", "1900us"},
}

// disturber is a set of processes that disturb.
type disturber struct{ processes []disturbing }

// disturbing is one of them; read is closed once all of its log was read.
type disturbing struct {
	*exec.Cmd
	read chan struct{}
}

// startDisturber starts nines-disturb with each of the arguments, `times` times, and returns when
// all disturb. They end with this process in any case, because then nothing reads their logs.
func startDisturber(ctx context.Context, times int, arguments ...[]string) (*disturber, error) {
	program, err := node.Program("nines-disturb")
	if err != nil {
		return nil, err
	}
	d := &disturber{}
	for _, argv := range arguments {
		for range times {
			if err := d.start(ctx, program, argv); err != nil {
				return nil, errors.Join(fmt.Errorf("start the disturber: %w", err), d.stop())
			}
		}
	}
	return d, nil
}

// onEachCPU is how often each kind disturbs a whole host.
func onEachCPU() int { return runtime.NumCPU() }

func (d *disturber) start(ctx context.Context, program string, argv []string) error {
	cmd := exec.CommandContext(ctx, program, argv...)
	cmd.Stderr = os.Stderr
	log, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(log)
	if !lines.Scan() { // its first disturbance
		return errors.Join(fmt.Errorf("%v did nothing", argv), cmd.Wait())
	}
	p := disturbing{cmd, make(chan struct{})}
	go func() {
		defer close(p.read)
		for lines.Scan() { // otherwise its pipe fills
		}
	}()
	d.processes = append(d.processes, p)
	return nil
}

// stop ends them. One that ended earlier could not do its work.
func (d *disturber) stop() error {
	var errs []error
	for _, p := range d.processes {
		if err := p.Process.Signal(unix.SIGTERM); err != nil {
			errs = append(errs, fmt.Errorf("the disturber ended by itself: %w", err))
		}
		<-p.read
		if err := p.Wait(); err != nil {
			errs = append(errs, fmt.Errorf("the disturber: %w", err))
		}
	}
	d.processes = nil
	return errors.Join(errs...)
}
