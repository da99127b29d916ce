package measure

import (
	"fmt"
	"math"

	"nines.dev/nines/analysis/undisturbed"
	"nines.dev/nines/engine/client"
	"nines.dev/nines/result"
)

// keepUndisturbed adds what the latencies of a trial would be if nothing had interrupted the CPUs on its path. A duet
// tells its sides apart.
func keepUndisturbed(rec *result.Record, o observation) error {
	counts := o.outcome.Rx.Arrivals
	if o.outcome.Arrivals == nil || counts == nil || rec.Trial.Interruptions == nil || rec.Trial.Duet != nil {
		return nil
	}
	if why := untold(*counts); why != "" {
		rec.Trial.Undisturbed = &result.Undisturbed{Refused: why, Assumed: []string{}, Percentiles: []result.UndisturbedPercentile{}}
		return nil
	}
	if err := o.outcome.Arrivals.Begin(); err != nil {
		return err
	}
	var lost []undisturbed.Packet
	for l := range o.outcome.Arrivals.Lost() {
		lost = append(lost, undisturbed.Packet{DueNs: l.DueNs, ReceivedNs: undisturbed.Lost})
	}
	measured := rec.Histograms.Latency
	d := undisturbed.Of(undisturbed.Trial{
		LengthNs: rec.Details.DurationNs,
		Packets:  undisturbed.InDueOrder(arrivedIn(o.outcome.Arrivals), lost, slowest(measured)),
		CPUs:     interruptedCPUs(rec),
	})
	rec.Trial.Undisturbed = d.Summary(rec.Trial.Interruptions.Unseen, measured)
	rec.Histograms.Undisturbed = d.Histogram()
	return nil
}

// untold says what is missing of the packets' times; empty if nothing is.
func untold(counts client.ArrivalCounts) string {
	switch {
	case counts.OneIn > 1:
		return fmt.Sprintf("the trial has too many packets to keep when each was received: only 1 in %d was", counts.OneIn)
	case counts.Missed+counts.LostMissed > 0:
		return fmt.Sprintf("it is not known of %d packets when they were due and received", counts.Missed+counts.LostMissed)
	case counts.Saturated > 0:
		return fmt.Sprintf("%d packets took longer than 4 s, and it is not known when they were due", counts.Saturated)
	}
	return ""
}

func arrivedIn(arrivals *client.Arrivals) func(func(undisturbed.Packet) bool) {
	return func(yield func(undisturbed.Packet) bool) {
		for a := range arrivals.Next() {
			if !yield(undisturbed.Packet{DueNs: a.DueNs, ReceivedNs: a.DueNs + a.LatencyNs}) {
				return
			}
		}
	}
}

// slowest is at least what the slowest packet took.
func slowest(measured *result.Histogram) int64 {
	const rounding = 1000
	if p := measured.Percentiles(); p.Max != nil {
		return *p.Max + rounding
	}
	return rounding
}

// shownByPacket are the kinds of interruptions that begin, as far as is seen, when a packet has to wait.
var shownByPacket = map[string]bool{"wake": true, "softirq": true}

// interruptedCPUs are what the witnesses of a trial have told, in the order of time.
func interruptedCPUs(rec *result.Record) []undisturbed.CPU {
	type kind struct{ thread, name string }
	usual := map[kind]int64{}
	short := map[string][]undisturbed.Short{}
	told := map[string]int64{}
	for _, t := range rec.Details.Turns {
		usual[kind{t.Thread, t.Kind}] = t.UsualNs
		for _, l := range t.UnlistedLengths {
			short[t.Thread] = append(short[t.Thread], undisturbed.Short{EachBelowNs: l.EachBelowNs, TotalNs: l.TotalNs})
			told[t.Thread] += l.TotalNs
		}
	}
	of := map[string][]undisturbed.Interruption{}
	for _, i := range rec.Interruptions {
		of[i.Thread] = append(of[i.Thread], undisturbed.Interruption{
			BeginNs: max(i.BeginNs, 0), EndNs: i.BeginNs + i.LengthNs, WithinNs: usual[kind{i.Thread, i.Kind}], ByPacket: shownByPacket[i.Kind],
		})
	}
	var cpus []undisturbed.CPU
	for _, w := range rec.Trial.Interruptions.Witnesses {
		cpu := undisturbed.CPU{Name: w.Thread, Interruptions: of[w.Thread], ThresholdNs: w.ThresholdNs, Missing: w.Overflow, Short: short[w.Thread]}
		if rest := w.UnlistedNs - told[w.Thread]; rest > 0 {
			cpu.Short = append(cpu.Short, undisturbed.Short{EachBelowNs: math.MaxInt64, TotalNs: rest})
		}
		cpus = append(cpus, cpu)
	}
	return cpus
}
