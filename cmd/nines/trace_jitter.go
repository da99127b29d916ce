package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"nines.dev/nines/host"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/measure/stall"
)

// traceJitterCall is one call of nines trace jitter.
type traceJitterCall struct {
	traceCall
	fifo int
}

func newTraceJitterCommand() *cobra.Command {
	var call traceJitterCall
	c := &cobra.Command{
		Use:   "jitter --cpus LIST",
		Short: "Say what takes time from a thread that spins on each of some CPUs",
		Long: `Say what takes time from CPUs: a thread spins on each of them, all at the same time,
and notes when it was stopped, for how long; of the longest gaps the recorder says what
had the CPU meanwhile. It is what oslat and the kernel's osnoise tracer tell, with the
names of those who did it, and needs neither.

Time for which nothing was recorded is unexplained: in a virtual machine most likely the
hypervisor's (steal tells what it admits to), else the firmware's or another thread's of
the same core. nines itself keeps off the CPUs that are watched, unless these are all.

The threads are ordinary ones, as most programs have; --fifo gives them a real-time
priority. The kernel then takes their CPU away for 50 ms of each second, unless
kernel.sched_rt_runtime_us is -1 ('nines tune apply --profile realtime'): that is a cause
like others.

The result folder has a trial for each CPU, whose packets are the gaps. Ctrl-C ends the
measurement and reports what there is.`,
		Example: `  nines trace jitter --cpus 2-3
  nines trace jitter --cpus 2-3 --duration 10m --threshold 50us
  nines trace jitter --cpus 3 --fifo 1
  nines trace jitter --cpus 2-3 --format json | jq '.subjects[] | {cpu, shares}'`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return call.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	call.flags(c, "the CPUs to watch (required)", "gaps from this length on are explained", 10*time.Microsecond)
	c.Flags().DurationVar(&call.duration, "duration", 10*time.Second, "how long to watch, 1s at least")
	c.Flags().IntVar(&call.fifo, "fifo", 0, "the real-time priority of the threads that spin, 1 to 99; 0 is none")
	return c
}

func (t *traceJitterCall) run(ctx context.Context, out, errOut io.Writer) error {
	inv, cpus, buffer, err := t.checked()
	switch {
	case err != nil:
		return err
	case len(cpus) == 0:
		return usageError{errors.New("name the CPUs to watch, such as --cpus 2-3")}
	case t.duration < time.Second:
		return usageError{fmt.Errorf("--duration %v is too short: 1s at least", t.duration)}
	case t.fifo < 0 || t.fifo > 99:
		return usageError{fmt.Errorf("--fifo %d: from 1 to 99, or 0 for ordinary threads", t.fifo)}
	}
	engine, err := node.Program("nines-engine")
	if err != nil {
		return err
	}
	var online []int
	for _, cpu := range inv.CPUs {
		if cpu.Online {
			online = append(online, cpu.ID)
		}
	}
	line := newProgressLine(errOut)
	r, err := stall.Jitter(ctx, stall.JitterOptions{
		CPUs: cpus, Online: online, Duration: t.duration, ThresholdNs: t.threshold.Nanoseconds(), Worst: t.worst,
		BufferBytes: buffer, Priority: t.fifo, Engine: engine,
		Progress: func(done, of time.Duration) {
			line.at("watching CPUs "+host.FormatCPUList(cpus), fmt.Sprintf("%v of %v", done.Round(time.Second), of))
		},
	})
	line.clear()
	if err != nil {
		return err
	}
	return t.finish("jitter", &r, inv, out, errOut, r.WriteJitter)
}
