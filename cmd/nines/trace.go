package main

import (
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/measure/stall"
	"nines.dev/nines/report"
	"nines.dev/nines/report/explain"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
	"nines.dev/nines/terminal/command"
)

func newTraceCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "trace",
		Short: "Find what keeps a program or a CPU from running",
		Long: `Record what the kernel does on the CPUs of a program, or of a thread that only spins,
and report what kept it from running, as 'trace: true' does for the packets of an
experiment: threads, interrupts, softirqs, timers, kernel work and interrupts from other
CPUs, each with its name, in microseconds, and the time for which nothing was recorded.

This needs root, or CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE, and a kernel with BTF.`,
		Example: `  nines trace record -- redis-benchmark -t get -n 100000
  nines trace record --pid 4711 --duration 30s
  nines trace jitter --cpus 2-3 --duration 1m`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newTraceRecordCommand(), newTraceJitterCommand())
	return c
}

// traceCall holds the options that the verbs of nines trace share.
type traceCall struct {
	cpus, out, format, buffer string
	duration, threshold       time.Duration
	worst                     int
}

func (t *traceCall) flags(c *cobra.Command, cpus, threshold string, least time.Duration) {
	c.Flags().StringVar(&t.cpus, "cpus", "", cpus)
	c.Flags().DurationVar(&t.threshold, "threshold", least, threshold)
	c.Flags().IntVar(&t.worst, "worst", 200, "keep the events of this many of the longest")
	c.Flags().StringVar(&t.buffer, "buffer", "4MiB", "memory per CPU for its latest events")
	c.Flags().StringVar(&t.out, "out", "results", "the folder of all results; '' writes no result")
	command.FormatFlag(c, &t.format)
}

// checked checks the options, and reads the inventory.
func (t *traceCall) checked() (inv *host.Inventory, cpus []int, buffer int64, err error) {
	size, err := spec.ParseSize(t.buffer)
	switch {
	case err != nil:
		return nil, nil, 0, exit.Wrongf("--buffer: %w", err)
	case size < 64<<10 || size > 1<<30:
		return nil, nil, 0, exit.Wrongf("--buffer %s: from 64KiB to 1GiB", t.buffer)
	case t.worst < 1 || t.worst > 10_000:
		return nil, nil, 0, exit.Wrongf("--worst %d: from 1 to 10000", t.worst)
	case t.threshold < time.Microsecond:
		return nil, nil, 0, exit.Wrongf("--threshold %v: at least 1us", t.threshold)
	case t.duration < 0:
		return nil, nil, 0, exit.Wrongf("--duration %v: a time that has passed", t.duration)
	}
	if inv, err = host.Read(); err != nil {
		return nil, nil, 0, err
	}
	cpus, err = chosenCPUs("--cpus", t.cpus, inv)
	return inv, cpus, int64(size), err
}

// finish describes the causes, writes the folder and prints the report.
func (t *traceCall) finish(name string, r *stall.Report, inv *host.Inventory, out, errOut io.Writer, table func(io.Writer) error) error {
	r.Kernel, r.CommandLine = inv.Kernel.Release, inv.Kernel.CommandLine
	all := result.Causes{Ranking: r.Causes}
	var steal int64
	for i := range r.Subjects {
		explain.Fill(r.Subjects[i].Causes, r.Details(i))
		all.Packets = append(all.Packets, r.Subjects[i].Causes.Packets...)
		steal += r.Subjects[i].StealNs
	}
	all.Slowest = len(all.Packets)
	if len(r.Subjects) > 0 {
		details := r.Details(0) // those of the first thread: all are alike
		details.StealNs = max(details.StealNs, steal)
		explain.Fill(&all, details)
	}
	if t.out != "" && len(r.Subjects) > 0 {
		line := newProgressLine(errOut)
		line.at("writing the result", "")
		err := r.Write(t.out, name, inv, report.WritePage)
		line.clear()
		if err != nil {
			return err
		}
	}
	if t.format == "json" {
		return command.WriteJSON(out, r)
	}
	if err := errors.Join(table(out), r.WriteCauses(out, all.Ranking)); err != nil {
		return err
	}
	if r.Folder != "" {
		_, err := terminal.Printf(out, "\nThe result: %s; 'nines explain %s' explains single stretches, and report.html there shows them.\n", r.Folder, r.Folder)
		return err
	}
	return nil
}
