package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/measure/stall"
)

// traceRecordCall holds the options of nines trace record.
type traceRecordCall struct {
	traceCall
	pid int
}

func newTraceRecordCommand() *cobra.Command {
	var call traceRecordCall
	c := &cobra.Command{
		Use:   "record [flags] [--] COMMAND [ARGUMENT]...",
		Short: "Find what kept the threads of a program from running",
		Long: `Run a program, or watch a running one, and report what kept its threads and those of its
children from running when they were ready to run:

  woken late    from the wake-up of the thread until it ran
  preempted     from when another thread took its CPU until it ran again
  interrupted   interrupts and softirqs had the CPU in the middle of its work
  stopped       from when a signal or a debugger stopped it until it ran again

nines counts all of these stretches. For the longest, the recorder reports what ran on
the CPU meanwhile. It may miss threads that live less than about 50 ms.

The result folder has one trial for each of the threads that lost most time; its packets
are the stretches. The command's output is not redirected, except that
with --format json it goes to standard error. Ctrl-C ends the recording and the command; a
process given by --pid continues.`,
		Example: `  nines trace record -- redis-benchmark -t get -n 100000
  nines trace record --threshold 20us -- ./server --port 9000
  nines trace record --pid 4711 --duration 30s
  nines trace record --pid 4711 --duration 1m --format json | jq '.causes[0]'`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 && call.pid == 0:
				return exit.Wrongf("name what to watch: a command behind --, or --pid PID; see 'nines trace record --help'")
			case len(args) > 0 && call.pid != 0:
				return exit.Wrongf("watch either a command or --pid, not both")
			case call.pid < 0:
				return exit.Wrongf("--pid %d: the number of a process", call.pid)
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return call.run(c.Context(), args, c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	c.Flags().SetInterspersed(false)
	call.flags(c, "the CPUs to record (default: all)", "explain stretches of at least this length", 100*time.Microsecond)
	c.Flags().IntVar(&call.pid, "pid", 0, "a running process")
	c.Flags().DurationVar(&call.duration, "duration", 0, "stop after this time (default: when the program ends)")
	return c
}

func (t *traceRecordCall) run(ctx context.Context, argv []string, in io.Reader, out, errOut io.Writer) error {
	inv, cpus, buffer, err := t.checked()
	if err != nil {
		return err
	}
	if len(cpus) == 0 {
		cpus = nil // all
	}
	o := stall.ProgramOptions{PID: t.pid, CPUs: cpus, Duration: t.duration, ThresholdNs: t.threshold.Nanoseconds(), Worst: t.worst, BufferBytes: buffer}
	line := newProgressLine(errOut)
	name := "pid " + fmt.Sprint(t.pid)
	var program *watchedProgram
	if len(argv) > 0 {
		output := out
		if t.format == "json" {
			output = errOut // standard output is for JSON only
		}
		if program, err = newWatchedProgram(argv, in, output, errOut); err != nil {
			return err
		}
		name = filepath.Base(argv[0])
		o.Start, o.Over = program.start, program.over
	} else if err := unix.Kill(t.pid, 0); errors.Is(err, unix.ESRCH) {
		return exit.Wrongf("--pid %d: the process does not exist", t.pid)
	} else {
		// A command shows by its own output that it is at work.
		o.Progress = func(elapsed time.Duration, threads int) {
			line.at("watching "+name, fmt.Sprintf("%v, %d threads", elapsed.Round(time.Second), threads))
		}
	}
	r, err := stall.Program(ctx, o)
	line.clear()
	ended := program.end()
	if err != nil {
		return errors.Join(err, ended)
	}
	return errors.Join(t.finish("trace-"+name, &r, inv, out, errOut, r.WriteProgram), ended)
}

// watchedProgram is a command that nines started to watch it.
type watchedProgram struct {
	cmd  *exec.Cmd
	over chan struct{}
	err  error // when over is closed
}

func newWatchedProgram(argv []string, in io.Reader, out, errOut io.Writer) (*watchedProgram, error) {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return nil, exit.Wrongf("the command cannot be run: %w", err)
	}
	p := &watchedProgram{cmd: exec.Command(path, argv[1:]...), over: make(chan struct{})}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = in, out, errOut
	return p, nil
}

func (p *watchedProgram) start() (int, error) {
	if err := p.cmd.Start(); err != nil {
		return 0, fmt.Errorf("run %s: %w", p.cmd.Path, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.over)
	}()
	return p.cmd.Process.Pid, nil
}

// end ends the command and its children, unless it has ended by itself, and returns how it failed.
func (p *watchedProgram) end() error {
	if p == nil || p.cmd.Process == nil {
		return nil
	}
	if p.isOver(100 * time.Millisecond) {
		if p.err != nil {
			return fmt.Errorf("%s ended with %w", p.cmd.Path, p.err)
		}
		return nil
	}
	pids := stall.Processes(p.cmd.Process.Pid)
	for _, signal := range []unix.Signal{unix.SIGTERM, unix.SIGKILL} {
		for _, pid := range pids {
			_ = unix.Kill(pid, signal) // it may have ended just now
		}
		if p.isOver(2 * time.Second) {
			break
		}
	}
	return nil
}

// isOver reports whether the command has ended; it waits at most that long.
func (p *watchedProgram) isOver(wait time.Duration) bool {
	select {
	case <-p.over:
		return true
	case <-time.After(wait):
		return false
	}
}
