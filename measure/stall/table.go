package stall

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"nines.dev/nines/analysis/attribution"
	"nines.dev/nines/measure/trace"
	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// sharesMost is the number of causes per CPU in the table; JSON has all.
const sharesMost = 6

// WriteJitter prints a line for each CPU, followed by the causes of its gaps.
func (r *Report) WriteJitter(out io.Writer) error {
	terminal.Printf(out, "Gaps of %v and more in %s\n\n", terminal.Duration(r.ThresholdNs), terminal.Duration(int64(r.Elapsed)))
	table := &terminal.Table{}
	table.Row("CPU", "cause", "gaps", "longest", "total", "share")
	for _, s := range r.Subjects {
		table.Row(s.CPU, "all gaps above 1 µs", s.lengths.Count(), terminal.Duration(s.longest()), terminal.Duration(s.Stalls[0].TotalNs), percent(s.Stalls[0].TotalNs, s.ElapsedNs))
		table.Row("", "explained: "+longestOf(s.Explained), s.Explained, terminal.Duration(s.longestNs), terminal.Duration(s.ExplainedNs), percent(s.ExplainedNs, s.Stalls[0].TotalNs))
		writeShares(table, s)
		if s.StealNs > 0 {
			table.Row("", "steal, as the hypervisor reports it", "", "", terminal.Duration(s.StealNs), "")
		}
	}
	return table.Write(out, terminal.Style{})
}

func longestOf(n int) string {
	if n == 1 {
		return "the longest"
	}
	return fmt.Sprintf("the %d longest", n)
}

func writeShares(table *terminal.Table, s Subject) {
	for i, share := range s.Shares {
		if i == sharesMost {
			table.Row("", fmt.Sprintf("  and %d causes more", len(s.Shares)-i), "", "", "", "")
			break
		}
		table.Row("", "  "+terminal.Plain(attribution.Brief(share.Cause)), share.Stalls, terminal.Duration(share.MaxNs), terminal.Duration(share.Ns), percent(share.Ns, s.ExplainedNs))
	}
}

// WriteProgram prints a line for each thread, and what had the CPU instead.
func (r *Report) WriteProgram(out io.Writer) error {
	terminal.Printf(out, "%d threads in %s", len(r.Subjects)+r.Others, terminal.Duration(int64(r.Elapsed)))
	if r.Others > 0 {
		terminal.Printf(out, "; the %d that were kept from running most", len(r.Subjects))
	}
	terminal.Printf(out, "\n\n")
	table := &terminal.Table{}
	table.Row("THREAD", "TID", "ran", "slept", "woken", "late p99", "longest", "preempted", "total", "longest", "interrupted", "total", "longest")
	for _, s := range r.Subjects {
		row := []any{terminal.Plain(s.Name), s.TID, terminal.Duration(s.RanNs), terminal.Duration(s.SleptNs)}
		for i, k := range s.Stalls[:trace.Stopped] {
			took := terminal.Duration(k.TotalNs)
			if i == 0 {
				took = optional(k.Lengths.P99)
			}
			row = append(row, k.Lengths.Count, took, optional(k.Lengths.Max))
		}
		table.Row(row...)
	}
	if err := table.Write(out, terminal.Style{}); err != nil {
		return err
	}
	for _, s := range r.Subjects {
		if stopped := s.Stalls[trace.Stopped]; stopped.Lengths.Count > 0 {
			terminal.Printf(out, "%s (%d) was stopped by a signal or a debugger %d times, for %s in all.\n", s.Name, s.TID, stopped.Lengths.Count, terminal.Duration(stopped.TotalNs))
		}
	}
	shares, explained, ns := r.together()
	if explained == 0 {
		_, err := terminal.Printf(out, "\nNothing kept them from running for %s or more.\n", terminal.Duration(r.ThresholdNs))
		return err
	}
	terminal.Printf(out, "\nWhat had the CPU instead, in %s of %s and longer\n\n", stretches(explained), terminal.Duration(r.ThresholdNs))
	table = &terminal.Table{}
	table.Row("cause", "stretches", "longest", "total", "share", "most of")
	for i, share := range shares {
		if i == causesMost {
			break
		}
		table.Row(terminal.Plain(attribution.Brief(share.Cause)), share.Stalls, terminal.Duration(share.MaxNs), terminal.Duration(share.Ns), percent(share.Ns, ns), terminal.Plain(share.of))
	}
	return table.Write(out, terminal.Style{})
}

func stretches(n int) string {
	if n == 1 {
		return "the only stretch"
	}
	return fmt.Sprintf("the %d longest stretches", n)
}

// causesMost is the number of causes of a program in the table.
const causesMost = 12

// sharedBy is a cause's share over all threads, and the thread it took most from.
type sharedBy struct {
	Share
	of   string
	most int64
}

// together adds up what had the CPUs, over all threads.
func (r *Report) together() (shares []sharedBy, explained int, ns int64) {
	for _, s := range r.Subjects {
		explained += s.Explained
		ns += s.ExplainedNs
		for _, share := range s.Shares {
			i := slices.IndexFunc(shares, func(other sharedBy) bool { return other.Cause == share.Cause })
			if i < 0 {
				i = len(shares)
				shares = append(shares, sharedBy{Share: Share{Cause: share.Cause}})
			}
			all := &shares[i]
			all.Stalls += share.Stalls
			all.Ns += share.Ns
			all.MaxNs = max(all.MaxNs, share.MaxNs)
			if share.Ns > all.most {
				all.of, all.most = s.Name, share.Ns
			}
		}
	}
	slices.SortStableFunc(shares, func(a, b sharedBy) int { return cmp.Compare(b.Ns, a.Ns) })
	return shares, explained, ns
}

// WriteCauses prints the ranking with sentences and remedies that the caller filled in.
func (r *Report) WriteCauses(out io.Writer, ranking []result.RankedCause) error {
	for i, c := range ranking {
		if i == sharesMost {
			break
		}
		terminal.Printf(out, "\n%d. %s.\n", i+1, c.Sentence)
		if c.Remedy != "" {
			terminal.Printf(out, "   %s\n", c.Remedy)
		}
	}
	cost := ""
	if r.CostNs != nil {
		cost = fmt.Sprintf(", which cost %s of CPU time", terminal.Duration(*r.CostNs))
	}
	terminal.Printf(out, "\nThe recorder wrote %d records%s, and lost %d that should have been kept.\n", r.Events, cost, r.Lost)
	for _, note := range r.Notes {
		terminal.Printf(out, "Note: %s.\n", note)
	}
	return nil
}

func optional(ns *int64) string {
	if ns == nil {
		return "–"
	}
	return terminal.Duration(*ns)
}

func percent(part, of int64) string {
	if of <= 0 {
		return ""
	}
	return fmt.Sprintf("%.3g %%", 100*float64(part)/float64(of))
}
