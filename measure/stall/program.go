package stall

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"nines.dev/nines/measure/steal"
	"nines.dev/nines/measure/trace"
	"nines.dev/nines/result"
)

// ProgramOptions say whose threads to watch.
type ProgramOptions struct {
	// PID is the process; its descendants are watched as well. 0: Start returns it.
	PID int
	// Start starts the program once the recorder is ready; nil if it already runs.
	Start func() (pid int, err error)
	// Over is closed when the program has ended; if nil, its threads show that.
	Over <-chan struct{}
	// CPUs are the recorded ones; nil: all.
	CPUs        []int
	Duration    time.Duration // 0: until it ends, or ctx does
	ThresholdNs int64
	// Worst is the number of stalls whose events are kept.
	Worst       int
	BufferBytes int64
	// Progress receives the elapsed time and the number of threads.
	Progress func(elapsed time.Duration, threads int)
}

// subjectsMost is the number of threads in the report: those kept from running most.
const subjectsMost = 24

// scanEvery is the interval between searches for new threads.
const scanEvery = 50 * time.Millisecond

// Program watches a program's threads until it ends, the duration is over or ctx ends.
func Program(ctx context.Context, o ProgramOptions) (Report, error) {
	recorder, err := trace.Start(trace.Config{CPUs: o.CPUs, BufferBytes: o.BufferBytes, Slowest: o.Worst})
	if err != nil {
		return Report{}, err
	}
	report := Report{Schema: Schema, Started: time.Now().UTC(), ThresholdNs: o.ThresholdNs, startedNs: monotonic()}
	before, _ := steal.Read("/") // only a witness
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
	after, _ := steal.Read("/")
	for cpu, stolen := range after {
		if len(o.CPUs) == 0 || slices.Contains(o.CPUs, cpu) {
			report.stealNs += (stolen - before[cpu]).Nanoseconds()
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

// follow registers the program's threads with the recorder as they appear.
func follow(ctx context.Context, o ProgramOptions, recorder *trace.Recorder) {
	known := map[int]string{}
	scan := func() bool {
		threads := threadsOf("/", o.PID)
		fresh := map[int]string{}
		for tid, name := range threads {
			if known[tid] != name { // new, or it has executed another program
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

// mostStalled returns the threads that were kept from running longest.
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
