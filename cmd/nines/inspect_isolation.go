package main

import (
	"fmt"
	"io"

	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/spec"
)

// writeIsolation writes what keeps other work off a lab's CPUs; nothing for the default degree.
func writeIsolation(out io.Writer, s isolate.State) {
	switch s.Degree {
	case spec.IsolationAffinity, "":
		return
	case spec.IsolationNone:
		fmt.Fprintln(out, "\nisolation: none; nothing is pinned")
		return
	case spec.IsolationPartition, spec.IsolationIsolated:
	}
	fmt.Fprintf(out, "\nisolation: %s, of the CPUs %s", s.Degree, cpulist.Format(s.CPUs))
	if len(s.HostCPUs) > 0 {
		fmt.Fprintf(out, "; all else keeps to %s", cpulist.Format(s.HostCPUs))
	}
	if s.Mechanism != "" {
		fmt.Fprintf(out, "\n  %s", s.Mechanism)
	}
	fmt.Fprintln(out)
	for _, g := range s.Groups {
		fmt.Fprintf(out, "  %s is %s, with the CPUs %s\n", g.Path, g.Partition, g.CPUs)
	}
	if moved := s.Interrupts + s.KernelThreads + s.Tasks + s.Settings; moved > 0 {
		fmt.Fprintf(out, "  moved away: %d interrupts, %d kernel threads, %d tasks; %d other settings\n", s.Interrupts, s.KernelThreads, s.Tasks, s.Settings)
	}
	for _, note := range s.Notes {
		fmt.Fprintf(out, "  %s\n", note)
	}
}
