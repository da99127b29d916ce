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

// wholeHost is the host's other work as nines-disturb makes it, all the time, each once for
// each CPU: the kernel puts them where it finds room.
var wholeHost = [][]string{
	{"--kind", "spin", "--period", "100ms", "--length", "100ms"},
	{"--kind", "fork", "--period", "100ms", "--length", "100ms"},
	{"--kind", "softirq", "--period", "500us", "--length", "100us"},
	{"--kind", "timers", "--period", "2ms", "--length", "1900us"},
}

// disturber is processes that disturb.
type disturber struct{ processes []disturbing }

// disturbing is one of them; read is closed when all of its log was read.
type disturbing struct {
	*exec.Cmd
	read chan struct{}
}

// startDisturber starts nines-disturb with each of the arguments, as often as told, and
// returns when all disturb. They go with this process, however it ends: nobody reads their
// log then.
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

// onEachCPU is how often a whole host is disturbed in each way.
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
	if !lines.Scan() { // the first that it did
		return errors.Join(fmt.Errorf("%v did nothing", argv), cmd.Wait())
	}
	p := disturbing{cmd, make(chan struct{})}
	go func() {
		defer close(p.read)
		for lines.Scan() { // or its pipe fills
		}
	}()
	d.processes = append(d.processes, p)
	return nil
}

// stop ends them. One that ended before could not do its work.
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
