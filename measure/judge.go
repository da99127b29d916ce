package measure

import (
	"fmt"
	"strings"
	"time"

	"nines.dev/nines/host"
	"nines.dev/nines/lab/check"
	"nines.dev/nines/result"
)

// The limits of a verdict. They follow from what matters for the tail, not from one machine.
const (
	// minOffered is the fraction of the intended packets that must have been sent; with less, the
	// trial answers a different question.
	minOffered = 0.999
	// maxTakenShare is the fraction of the trial's time that may be taken from a measuring thread
	// before the host determines the tail up to p99.99.
	maxTakenShare = 1e-4
	// maxGap is the longest single gap in a clean trial.
	maxGap = time.Millisecond
	// maxWake is the longest that an idle CPU may take to wake a thread in a clean trial. Servers
	// leave their deepest idle state within 0.3 ms, laptops within 0.7 to 2.6 ms (exit_latency in
	// the kernel's drivers/idle/intel_idle.c).
	maxWake = time.Millisecond
	// maxStealShare and maxRunDelayShare limit the kernel's own counts of the same. The engine leaves
	// out of its run delay what each switch to a thread that slept takes (engine/role/waits.h).
	maxStealShare    = 1e-3
	maxRunDelayShare = 1e-3
	// maxDriftPPM is how much the TSC's rate may change within a trial: 50 µs per second.
	maxDriftPPM = 50
	// maxLagShare is the lag of the median packet, as a fraction of the trial, from which the
	// generator counts as too slow for the rate.
	maxLagShare = 0.01
	// minLag is a lag that never means a slow generator: one time slice of the host's scheduler.
	// Otherwise short trials would be invalid because of it, and a search made of them would find
	// nothing on a busy host.
	minLag = 10 * time.Millisecond
)

// evidence is the basis of a verdict.
type evidence struct {
	trial       result.Trial
	details     result.Details
	intended    uint64 // packets
	txFailed    uint64
	interrupted bool
	duration    time.Duration // planned
	// faults are as in observation.
	faults []check.Fault
	// astray is as in observation.
	astray []string
	idle   []string
	// shared says which services may run on the CPUs of the measuring threads.
	shared []string
	// untuned is what others have changed of the host's tuning; empty if nothing.
	untuned string
	// realTime is the kernel's limit on real-time threads that never sleep.
	realTime host.RealTimeStop
	// whole is the trial including warm-up and drain; the gap meters and the kernel's counters
	// cover all of it.
	whole time.Duration
}

// judge returns the verdict and its reasons. Reasons that make a trial invalid come before those
// that make it noisy.
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
	reasons = append(reasons, e.astray...)
	say := func(format string, args ...any) { reasons = append(reasons, fmt.Sprintf(format, args...)) }
	reasons = append(reasons, unreceived(e.details.Receive, e.faults)...)
	if e.interrupted {
		say(interruptedReason+"%v of %v", time.Duration(e.details.DurationNs).Round(time.Millisecond), e.duration)
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
		say("no packet arrived: %s", endedWords(e.trial.SeenPath.Ends()))
	}
	switch clocks := e.details.Clocks; {
	case clocks != nil && clocks.Lost != "":
		say("%s", clocks.Lost)
	case clocks != nil && e.details.EarlyPackets > 0:
		say("%d packets arrived before they were sent: the clocks of the two machines differ by more than packets take (an error of %v is known): measure the round trip, or keep the clocks closer",
			e.details.EarlyPackets, round(clocks.ErrorNs))
	case e.details.EarlyPackets > 0:
		say("%d packets arrived before they were sent: the time stamp counters of the CPUs disagree", e.details.EarlyPackets)
	}
	if !e.details.TSC.Constant || !e.details.TSC.Nonstop {
		say("this CPU's time stamp counter is not constant and nonstop, so times cannot be trusted")
	}
	return reasons
}

// shortfall names the likeliest cause of unsent packets: one that cost the generator at least half
// the time that they would have taken.
func (e evidence) shortfall(share float64) string {
	half := int64(share * float64(e.duration) / 2)
	switch {
	case e.txFailed > 0:
		return "the interface refused the rest"
	case e.details.WaitedNs > half:
		return fmt.Sprintf("other work kept the engine from its CPU for %v", round(e.details.WaitedNs))
	case len(e.details.Gaps) > 0 && e.details.Gaps[0].TotalNs > half: // the generator's is the first
		return fmt.Sprintf("its CPU was taken away for %v", round(e.details.Gaps[0].TotalNs))
	default:
		return "the generator or its interface is too slow for this rate"
	}
}

// cpuOf names a thread's CPU. In a pod the kubelet chooses it, and the thread may move.
func cpuOf(gap result.GapMeter) string {
	if gap.CPU < 0 {
		return "its CPU"
	}
	return fmt.Sprintf("CPU %d", gap.CPU)
}

func disturbances(e evidence) []string {
	reasons := []string{}
	say := func(format string, args ...any) { reasons = append(reasons, fmt.Sprintf(format, args...)) }
	share := func(ns int64) float64 { return float64(ns) / float64(max(e.whole, 1)) }
	reasons = append(reasons, e.idle...)
	for _, gap := range e.details.Gaps {
		if share(gap.TotalNs) > maxTakenShare || gap.MaxNs > int64(maxGap) {
			say("%s: %s was taken away %d times, %v in all, %v at the longest: this affects the tail above p%s",
				gap.Thread, cpuOf(gap), gap.Count, round(gap.TotalNs), round(gap.MaxNs), percent(1-share(gap.TotalNs)))
		}
		if wakes := gap.Wakes; wakes != nil && wakes.MaxNs > int64(maxWake) {
			say("%s: %s woke it %v after its timer at the longest, of %d times: more than an idle CPU takes",
				gap.Thread, cpuOf(gap), round(wakes.MaxNs), wakes.Count)
		}
		if e.stopped(gap) {
			say("%s: its %s thread stood still for %v at once, which is how %s takes a CPU from real-time threads that never sleep, up to %v of each %v: tuning: realtime removes this limit",
				gap.Thread, gap.Scheduling, round(gap.MaxNs), e.realTime.By, e.realTime.Stop, e.realTime.Period)
		}
	}
	if share(e.details.StealNs) > maxStealShare {
		say("the hypervisor took %v from the measuring CPUs", round(e.details.StealNs))
	}
	if waited := e.details.WaitedNs; share(waited) > maxRunDelayShare {
		say("measuring threads waited %v for a CPU that ran something else%s", round(waited), after("; ", e.shared))
	}
	for _, program := range e.details.Programs {
		if share(program.RunDelayNs) > maxRunDelayShare {
			say("%s of link %s waited %v for a CPU that ran something else", program.Kind, program.Link, round(program.RunDelayNs))
		}
	}
	for _, t := range starved(e.details.Receive) {
		say("the polling thread %s had its CPU for %.1f %% of the time, so softirqs and timers received instead; polling: {cpus: 1} gives it an exclusive CPU", t.Name, 100*t.CPUUse)
	}
	if e.untuned != "" {
		reasons = append(reasons, e.untuned)
	}
	if e.details.ThrottledNs > 0 {
		say("a cgroup's CPU quota held the engines back for %v", round(e.details.ThrottledNs))
	}
	if drift := e.details.TSC.DriftPPM; drift > maxDriftPPM || drift < -maxDriftPPM {
		say("the time stamp counter's rate moved by %.0f ppm", drift)
	}
	if c := e.details.Clocks; c != nil && c.Untold != "" {
		say("how wrong the clock of node %s is was not told to its kernel, so it is missing in the error of the latencies: find the largest offset that ptp4l and phc2sys print, and write it as cluster: {clock_error: 20us}", c.Untold)
	}
	if e.details.InvalidPackets > 0 {
		say("%d packets arrived damaged or belong to another trial", e.details.InvalidPackets)
	}
	return reasons
}

// stopped reports whether the kernel stopped a real-time thread by design: its longest gap is that of
// the mechanism, within the tick that ends it and the time that starving threads did not need.
func (e evidence) stopped(gap result.GapMeter) bool {
	realTime := strings.HasPrefix(gap.Scheduling, "SCHED_FIFO ") || strings.HasPrefix(gap.Scheduling, "SCHED_RR ")
	longest, stop := time.Duration(gap.MaxNs), e.realTime.Stop
	return realTime && stop > 0 && longest > stop/2 && longest < stop+stop/2
}

// round formats a time with three or four digits.
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

// after joins texts after a mark; empty where there is none.
func after(mark string, texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	return mark + strings.Join(texts, mark)
}

// percent formats a fraction near 1 with as many nines as it has: 0.99962 as 99.96.
func percent(share float64) string {
	digits := 0
	for rest := 1 - share; rest < 0.1 && digits < 6; rest *= 10 {
		digits++
	}
	// Round down: 99.996 % must not become 100.
	scale := 1.0
	for range max(digits-1, 0) {
		scale *= 10
	}
	return fmt.Sprintf("%.*f", max(digits-1, 0), float64(int(max(share, 0)*100*scale))/scale)
}
