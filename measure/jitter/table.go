package jitter

import (
	"fmt"
	"io"
	"strings"

	"nines.dev/nines/terminal"
)

// Write prints a check, one line per CPU.
func (c Check) Write(out io.Writer) error {
	table := &terminal.Table{}
	table.Row("CPU", "gaps > 10 µs a second", "p99.99 of gaps", "p99.99 wait", "longest", "taken", "by threads", "steal")
	for _, cpu := range c.CPUs {
		table.Row(cpu.CPU, fmt.Sprintf("%.1f", cpu.LongGapsASecond),
			orTooFew(cpu.GapP9999Ns), terminal.Duration(cpu.WaitP9999Ns), terminal.Duration(cpu.LongestNs),
			fmt.Sprintf("%s (%.0f ppm)", terminal.Duration(cpu.TakenNs), cpu.TakenPPM()), terminal.Duration(cpu.RunDelayNs), terminal.Duration(cpu.StealNs))
	}
	return table.Write(out, terminal.Style{})
}

func orTooFew(ns int64) string {
	if ns == 0 {
		return "too few"
	}
	return terminal.Duration(ns)
}

// WriteComparison prints how each CPU has changed since another check.
func WriteComparison(out io.Writer, before, after Check, list []Comparison) error {
	var b strings.Builder
	terminal.Printf(&b, "\nAgainst the check of %s, before nines tune changed anything\n", before.Started.Format("2006-01-02 15:04:05 UTC"))
	count := map[Outcome]int{}
	for _, c := range list {
		count[c.Outcome]++
		terminal.Printf(&b, "  CPU %d: %s. %s\n", c.CPU, c.Outcome, strings.ToUpper(c.Why[:1])+c.Why[1:])
		terminal.Printf(&b, "    gaps > 10 µs a second %.1f → %.1f, p99.99 wait %s → %s, longest %s → %s, taken %.0f → %.0f ppm\n",
			c.Before.LongGapsASecond, c.After.LongGapsASecond, terminal.Duration(c.Before.WaitP9999Ns), terminal.Duration(c.After.WaitP9999Ns),
			terminal.Duration(c.Before.LongestNs), terminal.Duration(c.After.LongestNs), c.Before.TakenPPM(), c.After.TakenPPM())
	}
	switch {
	case len(list) == 0:
		terminal.Printf(&b, "  It covered none of these CPUs, so there is nothing to compare.\n")
	case count[Helped] == len(list):
		terminal.Printf(&b, "It helped, on every CPU.\n")
	case count[Worse] == len(list):
		terminal.Printf(&b, "It made every CPU worse.\n")
	case count[Unclear] == len(list):
		terminal.Printf(&b, "It made no clear difference: the change is within the spread of the slices of one check.\n")
	default:
		terminal.Printf(&b, "It helped on %d CPUs, made %d worse, and made no clear difference on %d.\n", count[Helped], count[Worse], count[Unclear])
	}
	if before.Scheduling != after.Scheduling {
		terminal.Printf(&b, "The measuring threads had another scheduling policy before: %s, now %s.\n", before.Scheduling, after.Scheduling)
	}
	if before.Kernel != after.Kernel {
		terminal.Printf(&b, "The kernel was different before: %s, now %s.\n", before.Kernel, after.Kernel)
	}
	_, err := io.WriteString(out, b.String())
	return err
}
