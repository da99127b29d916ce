package stall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/measure/jitter"
	"nines.dev/nines/measure/steal"
	"nines.dev/nines/measure/trace"
	"nines.dev/nines/result"
)

// JitterOptions say which CPUs to watch, and for how long.
type JitterOptions struct {
	CPUs []int
	// Online are all CPUs: those not watched may send interrupts, and nines runs there.
	Online      []int
	Duration    time.Duration
	ThresholdNs int64
	// Worst is the number of gaps per CPU whose events are kept.
	Worst       int
	BufferBytes int64
	// Priority is the real-time priority (SCHED_FIFO) of the spinning threads; 0 makes them
	// ordinary threads.
	Priority int
	// Engine is the path of nines-engine.
	Engine string
	// Progress receives the elapsed part of the duration; may be nil.
	Progress func(done, of time.Duration)
}

// noticePlaces is the number of gaps per CPU that can wait to be read: with gaps of at least 1 µs,
// no more can occur between two looks.
const noticePlaces = 1 << 15

// lookEvery is the interval between reads.
const lookEvery = 20 * time.Millisecond

// Jitter runs a spinning thread on each CPU and explains its gaps. When ctx ends it reports the
// gaps until then.
func Jitter(ctx context.Context, o JitterOptions) (_ Report, err error) {
	others := slices.DeleteFunc(slices.Clone(o.Online), func(cpu int) bool { return slices.Contains(o.CPUs, cpu) })
	giveBack, err := keepTo(others)
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, giveBack()) }()
	recorder, err := trace.Start(trace.Config{CPUs: o.CPUs, Senders: others, BufferBytes: o.BufferBytes,
		Slowest: 1, Ordinary: o.Worst * len(o.CPUs), CollectOn: others})
	if err != nil {
		return Report{}, err
	}
	report := Report{Schema: Schema, Started: time.Now().UTC(), ThresholdNs: o.ThresholdNs, startedNs: monotonic()}
	before, _ := steal.Read("/") // only a witness
	watched, gaps, err := watch(ctx, o, recorder)
	for i, w := range watched {
		report.Subjects = append(report.Subjects, subjectOf(w, gaps[i], report.startedNs))
		recorder.AddThreads(report.Subjects[i].thread)
	}
	report.Elapsed = time.Duration(monotonic() - report.startedNs)
	recording, stopped := recorder.Stop()
	if err := errors.Join(err, stopped); err != nil {
		return Report{}, err
	}
	report.recorded(recording)
	after, _ := steal.Read("/")
	for i := range report.Subjects {
		s := &report.Subjects[i]
		s.StealNs = (after[s.CPU] - before[s.CPU]).Nanoseconds()
		report.explain(s)
		if gaps[i].missed > 0 {
			report.Notes = append(report.Notes, fmt.Sprintf("%d announced gaps of CPU %d were overwritten before they were read", gaps[i].missed, s.CPU))
		}
	}
	report.rank()
	return report, nil
}

// watch runs the engine's watch until the time is over or ctx ends.
func watch(ctx context.Context, o JitterOptions, recorder *trace.Recorder) (_ []client.Watched, _ []*longest, err error) {
	engine, err := jitter.StartEngine(o.Engine)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, engine.End()) }()
	if o.Priority > 0 {
		// The engine, started later, inherits it.
		attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_FIFO, Priority: uint32(o.Priority)}
		if err := unix.SchedSetAttr(engine.PID, &attr, 0); err != nil {
			return nil, nil, fmt.Errorf("give the spinning threads real-time priority %d: %w", o.Priority, err)
		}
	}
	addresses, err := engine.WatchNotices(o.CPUs, noticePlaces, o.ThresholdNs)
	if err != nil {
		return nil, nil, err
	}
	if len(addresses) != len(o.CPUs) {
		return nil, nil, fmt.Errorf("the engine announces the gaps of %d CPUs, not of %d", len(addresses), len(o.CPUs))
	}
	var all []*longest
	for i, address := range addresses {
		from, err := trace.OpenAnnouncements(trace.Notices{PID: engine.PID, Address: address})
		if err != nil {
			return nil, nil, err
		}
		all = append(all, &longest{from: from, first: i * o.Worst, most: o.Worst})
	}
	look := func() {
		for _, l := range all {
			l.look(recorder.Keep)
		}
	}
	started, end := time.Now(), time.NewTimer(o.Duration)
	defer end.Stop()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for over := false; !over; {
		select {
		case <-ctx.Done():
			over = true
		case <-end.C:
			over = true
		case now := <-tick.C:
			if o.Progress != nil {
				o.Progress(now.Sub(started), o.Duration)
			}
		}
		look()
	}
	// The last gaps are announced before the threads end, and their rings disappear with them.
	look()
	watched, err := engine.StopWatch()
	return watched, all, err
}

func subjectOf(w client.Watched, gaps *longest, startedNs int64) Subject {
	s := Subject{Name: fmt.Sprintf("CPU %d", w.CPU), TID: w.TID, CPU: w.CPU, Scheduling: w.Scheduling, ElapsedNs: w.ElapsedNs,
		thread: result.TracedThread{Role: result.RoleProgram, Name: "nines-watch", TID: w.TID, CPU: w.CPU, Spins: true}}
	lengths, err := result.ImportHistogram(result.Sparse(w.Lengths))
	if err != nil { // without a policy the engine's own: it cannot be
		lengths = result.NewHistogram()
	}
	s.lengths = lengths
	s.RanNs = w.ElapsedNs - w.Gaps.TotalNs
	s.Stalls = []Kind{kindOf("gap", lengths)}
	s.Stalls[0].TotalNs = w.Gaps.TotalNs
	for _, gap := range gaps.kept {
		s.outliers = append(s.outliers, stalled(gap.ID, w.CPU, gap.BeginNs, gap.EndNs, startedNs))
	}
	return s
}

// longest holds the longest gaps of a CPU. Each has its own place among the recorder's packets, so
// a noisy CPU displaces none of a quiet one.
type longest struct {
	from        *trace.Announcements
	first, most int
	kept        []trace.Packet
	missed      uint64
}

func (l *longest) look(keep func(trace.Packet)) {
	packets, missed := l.from.Read()
	l.missed += missed
	for _, p := range packets {
		l.offer(p, keep)
	}
}

// offer adds a gap if there is room, or in place of a shorter one.
func (l *longest) offer(p trace.Packet, keep func(trace.Packet)) {
	at := len(l.kept)
	if at == l.most {
		shortest := slices.MinFunc(l.kept, func(a, b trace.Packet) int { return cmp.Compare(a.LatencyNs, b.LatencyNs) })
		if p.LatencyNs <= shortest.LatencyNs {
			return
		}
		at = shortest.Place - l.first
	} else {
		l.kept = append(l.kept, trace.Packet{})
	}
	p.Ordinary, p.Place = true, l.first+at
	l.kept[at] = p
	keep(p)
}

func monotonic() int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // cannot fail
	return now.Nano()
}
