package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/measure/stall"
)

// traceJitterCall holds the options of nines trace jitter.
type traceJitterCall struct {
	traceCall
	fifo int
}

func newTraceJitterCommand() *cobra.Command {
	var call traceJitterCall
	c := &cobra.Command{
		Use:   "jitter --cpus LIST",
		Short: "Find what takes time away from a spinning thread on each CPU",
		Long: `Report what takes time away from CPUs. A thread spins on each CPU and notes when it was
stopped and for how long. For the longest gaps, the recorder reports what ran on the CPU
meanwhile. This is the question that oslat and the kernel's osnoise tracer answer, with
the names of the causes, and it needs neither.

Time for which nothing was recorded is unexplained. In a virtual machine it is most
likely the hypervisor's (steal is the part that it reports); otherwise the firmware's,
or another thread's on the same core. nines itself keeps off the CPUs under test, unless
they are all the CPUs there are.

The threads have ordinary priority, like most programs; --fifo gives them a real-time
priority. The kernel then takes their CPU away for 50 ms of each second, unless
kernel.sched_rt_runtime_us is -1 ('nines tune apply --profile realtime'): that shows up
as a cause like any other.

The result folder has one trial per CPU; its packets are the gaps. Ctrl-C ends the
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
	call.flags(c, "the CPUs to watch (required)", "explain gaps of at least this length", 10*time.Microsecond)
	c.Flags().DurationVar(&call.duration, "duration", 10*time.Second, "how long to watch, 1s at least")
	c.Flags().IntVar(&call.fifo, "fifo", 0, "real-time priority of the spinning threads, 1 to 99; 0 for none")
	return c
}

func (t *traceJitterCall) run(ctx context.Context, out, errOut io.Writer) error {
	inv, cpus, buffer, err := t.checked()
	switch {
	case err != nil:
		return err
	case len(cpus) == 0:
		return exit.Wrongf("name the CPUs to watch, such as --cpus 2-3")
	case t.duration < time.Second:
		return exit.Wrongf("--duration %v is too short: at least 1s", t.duration)
	case t.fifo < 0 || t.fifo > 99:
		return exit.Wrongf("--fifo %d: from 1 to 99, or 0 for ordinary threads", t.fifo)
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
			line.at("watching CPUs "+cpulist.Format(cpus), fmt.Sprintf("%v of %v", done.Round(time.Second), of))
		},
	})
	line.clear()
	if err != nil {
		return err
	}
	return t.finish("jitter", &r, inv, out, errOut, r.WriteJitter)
}
