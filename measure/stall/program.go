package stall

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"nines.dev/nines/measure/trace"
	"nines.dev/nines/result"
)

// ProgramOptions say whose threads are watched.
type ProgramOptions struct {
	// PID is the process; its descendants are watched as well. 0: Start tells.
	PID int
	// Start begins the program when the recorder is ready; nil where there is one already.
	Start func() (pid int, err error)
	// Over is closed when the program has ended; nil: that is seen by its threads.
	Over <-chan struct{}
	// CPUs are those that are recorded; nil: all.
	CPUs        []int
	Duration    time.Duration // 0: until it ends, or ctx does
	ThresholdNs int64
	// Worst is of how many stalls the events are kept.
	Worst       int
	BufferBytes int64
	// Progress is told how long it takes already, and how many threads there are.
	Progress func(elapsed time.Duration, threads int)
}

// subjectsMost is how many threads are reported: those that were kept from running most.
const subjectsMost = 24

// scanEvery is how often new threads are looked for.
const scanEvery = 50 * time.Millisecond

// Program watches a program's threads until it ends, the duration is over or ctx ends.
func Program(ctx context.Context, o ProgramOptions) (Report, error) {
	recorder, err := trace.Start(trace.Config{CPUs: o.CPUs, BufferBytes: o.BufferBytes, Slowest: o.Worst})
	if err != nil {
		return Report{}, err
	}
	report := Report{Schema: Schema, Started: time.Now().UTC(), ThresholdNs: o.ThresholdNs, startedNs: monotonic()}
	steal := readSteal()
	if o.Start != nil {
		if o.PID, err = o.Start(); err != nil {
			_, stopped := recorder.Stop()
			return Report{}, cmp.Or(err, stopped)
		}
	}
	follow(ctx, o, recorder)
	threads, stalls, lost := recorder.Stalls()
	report.Elapsed = time.Duration(monotonic() - report.startedNs)
	recording, err := recorder.Stop()
	if err != nil {
		return Report{}, err
	}
	report.recorded(recording)
	for cpu, ns := range readSteal() {
		if len(o.CPUs) == 0 || slices.Contains(o.CPUs, cpu) {
			report.stealNs += ns - steal[cpu]
		}
	}
	if lost > 0 {
		report.Notes = append(report.Notes, fmt.Sprintf("%d events were overwritten before they were looked at: give the recorder more memory with --buffer", lost))
	}
	report.Others = len(threads)
	threads = mostStalled(threads, stalls)
	report.Others -= len(threads)
	for _, t := range threads {
		s := threadSubject(t, stalls, o.PID, report.startedNs)
		report.explain(&s)
		report.Subjects = append(report.Subjects, s)
	}
	report.rank()
	return report, nil
}

// follow names the program's threads to the recorder as they come.
func follow(ctx context.Context, o ProgramOptions, recorder *trace.Recorder) {
	known := map[int]string{}
	scan := func() bool {
		threads := threadsOf("/", o.PID)
		fresh := map[int]string{}
		for tid, name := range threads {
			if known[tid] != name { // new, or it executes another program now
				fresh[tid], known[tid] = name, name
			}
		}
		recorder.WatchThreads(o.ThresholdNs, fresh)
		return len(threads) > 0
	}
	var end <-chan time.Time
	if o.Duration > 0 {
		timer := time.NewTimer(o.Duration)
		defer timer.Stop()
		end = timer.C
	}
	tick := time.NewTicker(scanEvery)
	defer tick.Stop()
	for started := time.Now(); scan(); {
		select {
		case <-ctx.Done():
			return
		case <-o.Over:
			return
		case <-end:
			return
		case now := <-tick.C:
			if o.Progress != nil {
				o.Progress(now.Sub(started), len(known))
			}
		}
	}
}

// mostStalled are the threads that were kept from running longest.
func mostStalled(threads []trace.ThreadStalls, stalls []trace.Stall) []trace.ThreadStalls {
	total := map[int]int64{}
	for _, s := range stalls {
		total[s.TID] += s.LengthNs()
	}
	sorted := slices.SortedStableFunc(slices.Values(threads), func(a, b trace.ThreadStalls) int {
		return cmp.Or(cmp.Compare(total[b.TID], total[a.TID]), cmp.Compare(b.RanNs, a.RanNs))
	})
	return sorted[:min(len(sorted), subjectsMost)]
}

func threadSubject(t trace.ThreadStalls, stalls []trace.Stall, pid int, startedNs int64) Subject {
	s := Subject{Name: t.Name, TID: t.TID, CPU: t.CPU, RanNs: t.RanNs, SleptNs: t.SleptNs, lengths: result.NewHistogram(),
		thread: result.TracedThread{Role: result.RoleProgram, Name: t.Name, PID: pid, TID: t.TID, CPU: -1}}
	for kind, lengths := range t.Lengths {
		histogram := lengths.Histogram()
		s.Stalls = append(s.Stalls, kindOf(trace.StallKind(kind).String(), histogram))
		s.lengths.Merge(histogram)
	}
	for _, stall := range stalls {
		if stall.TID == t.TID {
			s.outliers = append(s.outliers, stalled(stall.ID, stall.CPU, stall.BeginNs, stall.EndNs, startedNs))
		}
	}
	return s
}
