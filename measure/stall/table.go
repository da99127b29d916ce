package stall

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"nines.dev/nines/analysis/attribution"
	"nines.dev/nines/measure/trace"
	"nines.dev/nines/result"
)

// sharesMost is how many causes of a CPU the table lists; JSON has all.
const sharesMost = 6

// WriteJitter prints a line for each CPU, and below it what its gaps were.
func (r *Report) WriteJitter(out io.Writer) error {
	fmt.Fprintf(out, "Gaps of %v and more in %s\n\n", brief(r.ThresholdNs), brief(int64(r.Elapsed)))
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CPU\tcause\tgaps\tlongest\ttotal\tshare")
	for _, s := range r.Subjects {
		fmt.Fprintf(table, "%d\tall gaps above 1 µs\t%d\t%s\t%s\t%s\n", s.CPU, s.lengths.Count(), brief(s.longest()), brief(s.Stalls[0].TotalNs), percent(s.Stalls[0].TotalNs, s.ElapsedNs))
		fmt.Fprintf(table, "\texplained: %s\t%d\t%s\t%s\t%s\n", longestOf(s.Explained), s.Explained, brief(s.longestNs), brief(s.ExplainedNs), percent(s.ExplainedNs, s.Stalls[0].TotalNs))
		writeShares(table, s)
		if s.StealNs > 0 {
			fmt.Fprintf(table, "\tsteal, as the hypervisor tells\t\t\t%s\t\n", brief(s.StealNs))
		}
	}
	return table.Flush()
}

func longestOf(n int) string {
	if n == 1 {
		return "the longest"
	}
	return fmt.Sprintf("the %d longest", n)
}

func writeShares(table io.Writer, s Subject) {
	for i, share := range s.Shares {
		if i == sharesMost {
			fmt.Fprintf(table, "\t  and %d causes more\t\t\t\t\n", len(s.Shares)-i)
			break
		}
		fmt.Fprintf(table, "\t  %s\t%d\t%s\t%s\t%s\n", plain(attribution.Brief(share.Cause)), share.Stalls, brief(share.MaxNs), brief(share.Ns), percent(share.Ns, s.ExplainedNs))
	}
}

// WriteProgram prints a line for each thread, and what had the CPU instead.
func (r *Report) WriteProgram(out io.Writer) error {
	fmt.Fprintf(out, "%d threads in %s", len(r.Subjects)+r.Others, brief(int64(r.Elapsed)))
	if r.Others > 0 {
		fmt.Fprintf(out, "; the %d that were kept from running most", len(r.Subjects))
	}
	fmt.Fprint(out, "\n\n")
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "THREAD\tTID\tran\tslept\twoken\tlate p99\tlongest\tpreempted\ttotal\tlongest\tinterrupted\ttotal\tlongest")
	for _, s := range r.Subjects {
		fmt.Fprintf(table, "%s\t%d\t%s\t%s", plain(s.Name), s.TID, brief(s.RanNs), brief(s.SleptNs))
		for i, k := range s.Stalls[:trace.Stopped] {
			fmt.Fprintf(table, "\t%d", k.Lengths.Count)
			if i == 0 {
				fmt.Fprintf(table, "\t%s", optional(k.Lengths.P99))
			} else {
				fmt.Fprintf(table, "\t%s", brief(k.TotalNs))
			}
			fmt.Fprintf(table, "\t%s", optional(k.Lengths.Max))
		}
		fmt.Fprintln(table)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, s := range r.Subjects {
		if stopped := s.Stalls[trace.Stopped]; stopped.Lengths.Count > 0 {
			fmt.Fprintf(out, "%s (%d) was stopped by a signal or a debugger %d times, for %s in all.\n", plain(s.Name), s.TID, stopped.Lengths.Count, brief(stopped.TotalNs))
		}
	}
	shares, explained, ns := r.together()
	if explained == 0 {
		_, err := fmt.Fprintf(out, "\nNothing kept them from running for %s or more.\n", brief(r.ThresholdNs))
		return err
	}
	fmt.Fprintf(out, "\nWhat had the CPU instead, in %s of %s and more\n\n", stretches(explained), brief(r.ThresholdNs))
	table = tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "cause\tstretches\tlongest\ttotal\tshare\tmost of")
	for i, share := range shares {
		if i == causesMost {
			break
		}
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\t%s\n", plain(attribution.Brief(share.Cause)), share.Stalls, brief(share.MaxNs), brief(share.Ns), percent(share.Ns, ns), plain(share.of))
	}
	return table.Flush()
}

func stretches(n int) string {
	if n == 1 {
		return "the only stretch"
	}
	return fmt.Sprintf("the %d longest stretches", n)
}

// causesMost is how many causes of a program the table lists.
const causesMost = 12

// sharedBy is a cause's share of all threads, and the thread that it took most of.
type sharedBy struct {
	Share
	of   string
	most int64
}

// together adds up what had the CPUs, of all threads.
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

// WriteCauses prints the ranking with its sentences and remedies, which somebody else
// worded.
func (r *Report) WriteCauses(out io.Writer, ranking []result.RankedCause) error {
	for i, c := range ranking {
		if i == sharesMost {
			break
		}
		fmt.Fprintf(out, "\n%d. %s.\n", i+1, plain(c.Sentence))
		if c.Remedy != "" {
			fmt.Fprintf(out, "   %s\n", c.Remedy)
		}
	}
	cost := ""
	if r.CostNs != nil {
		cost = fmt.Sprintf(", which cost %s of CPU time", brief(*r.CostNs))
	}
	fmt.Fprintf(out, "\nThe recorder wrote %d records%s, and lost %d that were to be kept.\n", r.Events, cost, r.Lost)
	for _, note := range r.Notes {
		fmt.Fprintf(out, "Note: %s.\n", note)
	}
	return nil
}

func optional(ns *int64) string {
	if ns == nil {
		return "–"
	}
	return brief(*ns)
}

func percent(part, of int64) string {
	if of <= 0 {
		return ""
	}
	return fmt.Sprintf("%.3g %%", 100*float64(part)/float64(of))
}

// brief prints ns with three digits and the unit that fits.
func brief(ns int64) string {
	for _, u := range []struct {
		ns   float64
		name string
	}{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}} {
		if v := float64(ns) / u.ns; v >= 1 {
			digits := max(0, 3-len(fmt.Sprintf("%.0f", v)))
			return fmt.Sprintf("%.*f %s", digits, v, u.name)
		}
	}
	return fmt.Sprintf("%d ns", ns)
}

// plain keeps a thread's name from writing to the terminal by itself.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, text)
}
