package attribution

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"nines.dev/nines/result"
)

// Input is what a trial left behind.
type Input struct {
	// Slow are the slowest packets, and Ordinary some picked at random: the rows of
	// outliers.csv and ordinary.csv.
	Slow, Ordinary []result.Outlier
	// Events are the rows of events.parquet.
	Events []result.Event
	// Details are the trial's, with a Trace.
	Details result.Details
}

// analysis holds what all parts of an attribution share.
type analysis struct {
	timeline *timeline
	path     path
	// travel is a packet's usual transit time.
	travel int64
	// impaired are the links on the path that hold packets deliberately.
	impaired impairedLinks
	// overflowed is true if a full queue dropped packets during the trial.
	overflowed bool
	// full is the cause that stands for waiting in the full queue.
	full result.Cause
}

// Attribute says why the slowest packets of a trial were late. The sentences of the
// ranking are left empty; package report/explain words them.
func Attribute(in Input) result.Causes {
	causes := result.Causes{Schema: result.CausesSchema, Ranking: []result.RankedCause{}, Packets: []result.PacketCauses{}}
	trace := in.Details.Trace
	if trace == nil {
		causes.Notes = append(causes.Notes, "the trial was not recorded")
		return causes
	}
	a := &analysis{
		timeline: newTimeline(in.Events, trace), path: pathOf(trace.Threads), impaired: impairedOf(in.Details.Impairments),
	}
	a.travel = max(0, travelOf(in.Ordinary)-a.impaired.least())
	a.full, a.overflowed = fullQueue(in.Details, a.path.receiver)
	slow, ordinary := a.passages(in.Slow, in), a.passages(in.Ordinary, in)
	ordinary = slices.DeleteFunc(ordinary, func(p passage) bool { return !p.recorded })
	u := usualOf(ordinary, a.overflowed, a.timeline.traced)
	a.queues(slow, u)

	for i := range slow {
		causes.Packets = append(causes.Packets, u.packet(slow[i]))
	}
	causes.Ordinary = len(ordinary)
	causes.Slowest = min(cmp.Or(trace.Slowest, len(slow)), len(slow))
	slowest := Slowest(causes.Packets, causes.Slowest)
	for _, p := range slowest {
		if p.Recorded {
			causes.Recorded++
		}
	}
	causes.Ranking = rank(slowest, ordinary, u)
	causes.Notes = notes(causes, trace)
	return causes
}

// packet turns a passage into what the result file says about the packet.
func (u usual) packet(p passage) result.PacketCauses {
	c := result.PacketCauses{ID: p.outlier.ID, LatencyNs: p.outlier.LatencyNs, Recorded: p.recorded, Lost: p.lost, Phases: []result.PhaseCauses{}}
	for n := range p.phases {
		c.Phases = append(c.Phases, u.divide(n, p.phases[n]))
	}
	return c
}

func (a *analysis) passages(rows []result.Outlier, in Input) []passage {
	list := make([]passage, 0, len(rows))
	for _, o := range rows {
		p := a.timeline.passageOf(o, in.Details.StartedNs, a.path, a.travel, a.impaired)
		p.lost = a.timeline.lost(a.path, p.intended, p.rx)
		p.recorded = p.lost == nil && covers(in.Details.Trace.Stretches, p.intended, p.rx) &&
			a.timeline.seen(a.path.sender, p.intended, p.rx) && a.timeline.seen(a.path.receiver, p.intended, p.rx)
		list = append(list, p)
	}
	return list
}

// covers reports whether the recorded stretches, which are in order, cover nearly all of the time
// from begin to end.
func covers(stretches [][2]int64, begin, end int64) bool {
	var has int64
	first := sort.Search(len(stretches), func(i int) bool { return stretches[i][1] > begin })
	for _, s := range stretches[first:] {
		if s[0] > end {
			break
		}
		has += max(0, min(s[1], end)-max(s[0], begin))
	}
	return has > 0 && has*20 >= (end-begin)*19
}

// seen reports whether the events of the thread's CPU were recorded for nearly all of a time. A CPU
// always runs some thread, so where none is known, events were lost. It is true for an unknown
// thread and for a CPU that ran only the trial's threads.
func (t *timeline) seen(tid int32, begin, end int64) bool {
	thread, known := t.traced[tid]
	c := t.cpus[int32(thread.CPU)]
	if !known || c == nil || !c.others {
		return true
	}
	var has int64
	for _, run := range c.runs.within(begin, end) {
		has += min(run.EndNs, end) - max(run.BeginNs, begin)
	}
	return has*20 >= (end-begin)*19
}

// notes are what a reader of the causes should know.
func notes(causes result.Causes, trace *result.Trace) []string {
	var list []string
	if missing := causes.Slowest - causes.Recorded; missing > 0 {
		list = append(list, fmt.Sprintf("no events were kept for %d of the %d slowest packets: they are left out", missing, causes.Slowest))
	}
	list = append(list, losses(Slowest(causes.Packets, causes.Slowest))...)
	if trace.Lost > 0 {
		list = append(list, fmt.Sprintf("%d events were lost that should have been kept, so some of the unexplained time may have a cause (a larger tracing.buffer loses fewer)", trace.Lost))
	}
	if alone := len(trace.Threads) == 1 && trace.Threads[0].Role == result.RoleProgram; causes.Ordinary == 0 && !alone {
		list = append(list, "no ordinary packets were recorded, so it is unknown how common a cause is")
	}
	return append(list, trace.NotRecorded()...)
}

// less orders causes, so that results do not depend on the order of maps.
func less(a, b result.Cause) bool { return compare(a, b) < 0 }

func compare(a, b result.Cause) int {
	return cmp.Or(strings.Compare(a.Kind, b.Kind), strings.Compare(a.Name, b.Name),
		strings.Compare(a.Source, b.Source), cmp.Compare(a.CPU, b.CPU))
}

// sortShares puts the largest first.
func sortShares(list []result.CauseShare) {
	slices.SortFunc(list, func(a, b result.CauseShare) int {
		return cmp.Or(cmp.Compare(b.Ns, a.Ns), compare(a.Cause, b.Cause))
	})
}
