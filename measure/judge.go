package measure

import (
	"fmt"
	"strings"
	"time"

	"nines.dev/nines/host"
	"nines.dev/nines/lab"
	"nines.dev/nines/result"
)

// The limits of a verdict. They are shares of what the reader of a tail cares
// for, not properties of one machine.
const (
	// minOffered is the share of the intended packets that must have been sent:
	// with less, the trial answers another question.
	minOffered = 0.999
	// maxTakenShare is the share of the trial's time that may be taken from a
	// measuring thread before the tail to p99.99 is the host's doing.
	maxTakenShare = 1e-4
	// maxGap is the longest single stretch without the CPU in a clean trial.
	maxGap = time.Millisecond
	// maxStealShare, maxRunDelayShare: the kernel's own witnesses of the same.
	maxStealShare    = 1e-3
	maxRunDelayShare = 1e-3
	// maxDriftPPM is how far the TSC's rate may move within a trial: 50 µs in a
	// second.
	maxDriftPPM = 50
	// maxLagShare is how late, as a share of the trial, the median packet may be
	// sent before the generator has to be called too slow for the rate.
	maxLagShare = 0.01
	// minLag is a lateness that is no sign of a slow generator in any trial: one time
	// slice of the host's scheduler. Short trials would else be invalid for it, and a
	// search of many of them find nothing on a busy host.
	minLag = 10 * time.Millisecond
)

// evidence is what a verdict rests on.
type evidence struct {
	trial       result.Trial
	details     result.Details
	intended    uint64 // packets
	txFailed    uint64
	interrupted bool
	duration    time.Duration // planned
	// faults are what of the lab has died, and which of its virtual machines' timings
	// mean nothing.
	faults []lab.Fault
	// realTime is what the kernel does to real-time threads that never sleep.
	realTime host.RealTimeStop
	// whole is the trial with its warm-up and drain, over which the gap meters and
	// the kernel's witnesses ran.
	whole time.Duration
}

// judge says what a trial is worth and why. Reasons that make it invalid come
// before those that make it noisy.
func judge(e evidence) (result.Verdict, []string) {
	if reasons := invalidity(e); len(reasons) > 0 {
		return result.Invalid, append(reasons, disturbances(e)...)
	}
	if reasons := disturbances(e); len(reasons) > 0 {
		return result.Noisy, reasons
	}
	return result.Clean, []string{}
}

func invalidity(e evidence) []string {
	reasons := []string{}
	for _, fault := range e.faults {
		reasons = append(reasons, fault.Problem)
	}
	say := func(format string, args ...any) { reasons = append(reasons, fmt.Sprintf(format, args...)) }
	reasons = append(reasons, unreceived(e.details.Receive, e.faults)...)
	if e.interrupted {
		say("interrupted after %v of %v", time.Duration(e.details.DurationNs).Round(time.Millisecond), e.duration)
	}
	if offered := float64(e.trial.TxPackets); !e.interrupted && offered < minOffered*float64(e.intended) {
		say("offered %d of %d intended packets (%.2f %%): %s",
			e.trial.TxPackets, e.intended, 100*offered/float64(e.intended), e.shortfall(1-offered/float64(e.intended)))
	}
	if e.txFailed > 0 {
		say("the interface refused %d packets for good", e.txFailed)
	}
	if lag := e.trial.SendLag.P50; lag != nil && float64(*lag) > max(maxLagShare*float64(e.duration), float64(minLag)) {
		say("the median packet left %v after it was due", round(*lag))
	}
	if e.trial.TxPackets == 0 && e.intended == 0 && !e.interrupted {
		say("no packet was sent: the interface took none")
	}
	if e.trial.RxPackets == 0 && e.trial.TxPackets > 0 {
		say("no packet arrived: look at the path with 'nines up' and 'nines capture'")
	}
	if e.details.EarlyPackets > 0 {
		say("%d packets arrived before they were sent: the time stamp counters of the CPUs disagree", e.details.EarlyPackets)
	}
	if !e.details.TSC.Constant || !e.details.TSC.Nonstop {
		say("this CPU's time stamp counter is not constant and nonstop, so times cannot be trusted")
	}
	return reasons
}

// shortfall names the likeliest cause of packets that were never sent: what cost
// the generator at least half the time that they would have taken.
func (e evidence) shortfall(share float64) string {
	half := int64(share * float64(e.duration) / 2)
	switch {
	case e.txFailed > 0:
		return "the interface refused the rest"
	case e.details.RunDelayNs > half:
		return fmt.Sprintf("other work kept the engine from its CPU for %v", round(e.details.RunDelayNs))
	case len(e.details.Gaps) > 0 && e.details.Gaps[0].TotalNs > half: // the generator's is the first
		return fmt.Sprintf("its CPU was taken away for %v", round(e.details.Gaps[0].TotalNs))
	default:
		return "the generator or its interface is too slow for this rate"
	}
}

func disturbances(e evidence) []string {
	reasons := []string{}
	say := func(format string, args ...any) { reasons = append(reasons, fmt.Sprintf(format, args...)) }
	share := func(ns int64) float64 { return float64(ns) / float64(max(e.whole, 1)) }
	for _, gap := range e.details.Gaps {
		if share(gap.TotalNs) > maxTakenShare || gap.MaxNs > int64(maxGap) {
			say("%s: CPU %d was taken away %d times, %v in all, %v at the longest: this affects the tail above p%s",
				gap.Thread, gap.CPU, gap.Count, round(gap.TotalNs), round(gap.MaxNs), percent(1-share(gap.TotalNs)))
		}
		if e.stopped(gap) {
			say("%s: its %s thread stood still for %v at once, which is how %s takes a CPU back from real-time threads that never sleep, up to %v of each %v: tuning: realtime lifts it",
				gap.Thread, gap.Scheduling, round(gap.MaxNs), e.realTime.By, e.realTime.Stop, e.realTime.Period)
		}
	}
	if share(e.details.StealNs) > maxStealShare {
		say("the hypervisor took %v from the measuring CPUs", round(e.details.StealNs))
	}
	if share(e.details.RunDelayNs) > maxRunDelayShare {
		say("measuring threads waited %v for a CPU that ran something else", round(e.details.RunDelayNs))
	}
	for _, program := range e.details.Programs {
		if share(program.RunDelayNs) > maxRunDelayShare {
			say("%s of link %s waited %v for a CPU that ran something else", program.Kind, program.Link, round(program.RunDelayNs))
		}
	}
	for _, t := range starved(e.details.Receive) {
		say("the polling thread %s had its CPU for %.1f %% of the time, so softirqs and timers received instead; polling: {cpus: 1} gives it one of its own", t.Name, 100*t.CPUUse)
	}
	if e.details.ThrottledNs > 0 {
		say("a cgroup's CPU quota held the engines back for %v", round(e.details.ThrottledNs))
	}
	if drift := e.details.TSC.DriftPPM; drift > maxDriftPPM || drift < -maxDriftPPM {
		say("the time stamp counter's rate moved by %.0f ppm", drift)
	}
	if e.details.InvalidPackets > 0 {
		say("%d packets arrived damaged or were not of this trial", e.details.InvalidPackets)
	}
	return reasons
}

// stopped tells whether the kernel stopped a real-time thread on principle: its longest
// gap is that of the mechanism, give or take the tick that ends it and what of it the
// starving threads did not need.
func (e evidence) stopped(gap result.GapMeter) bool {
	realTime := strings.HasPrefix(gap.Scheduling, "SCHED_FIFO ") || strings.HasPrefix(gap.Scheduling, "SCHED_RR ")
	longest, stop := time.Duration(gap.MaxNs), e.realTime.Stop
	return realTime && stop > 0 && longest > stop/2 && longest < stop+stop/2
}

// round shows a time with three or four digits.
func round(ns int64) time.Duration {
	d := time.Duration(ns)
	switch {
	case d >= time.Second:
		return d.Round(time.Millisecond)
	case d >= time.Millisecond:
		return d.Round(10 * time.Microsecond)
	default:
		return d.Round(100 * time.Nanosecond)
	}
}

// percent shows a share near 1 with as many nines as it has: 0.99962 as 99.96.
func percent(share float64) string {
	digits := 0
	for rest := 1 - share; rest < 0.1 && digits < 6; rest *= 10 {
		digits++
	}
	// Rounded down: 99.996 % untouched must not be shown as 100.
	scale := 1.0
	for range max(digits-1, 0) {
		scale *= 10
	}
	return fmt.Sprintf("%.*f", max(digits-1, 0), float64(int(max(share, 0)*100*scale))/scale)
}
