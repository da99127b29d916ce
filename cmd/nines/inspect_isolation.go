package main

import (
	"io"

	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// writeIsolation writes what keeps other work off a lab's CPUs; nothing for the default degree.
func writeIsolation(out io.Writer, s isolate.State) {
	switch s.Degree {
	case spec.IsolationAffinity, "":
		return
	case spec.IsolationNone:
		terminal.Printf(out, "\nisolation: none; nothing is pinned\n")
		return
	case spec.IsolationPartition, spec.IsolationIsolated:
	}
	terminal.Printf(out, "\nisolation: %s, of the CPUs %s", s.Degree, cpulist.Format(s.CPUs))
	if len(s.HostCPUs) > 0 {
		terminal.Printf(out, "; all else keeps to %s", cpulist.Format(s.HostCPUs))
	}
	if s.Mechanism != "" {
		terminal.Printf(out, "\n  %s", s.Mechanism)
	}
	terminal.Println(out)
	for _, g := range s.Groups {
		terminal.Printf(out, "  %s is %s, with the CPUs %s\n", g.Path, g.Partition, g.CPUs)
	}
	if moved := s.Interrupts + s.KernelThreads + s.Tasks + s.Settings; moved > 0 {
		terminal.Printf(out, "  moved away: %d interrupts, %d kernel threads, %d tasks; %d other settings\n", s.Interrupts, s.KernelThreads, s.Tasks, s.Settings)
	}
	for _, note := range s.Notes {
		terminal.Printf(out, "  %s\n", note)
	}
}
