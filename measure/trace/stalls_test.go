package trace

import (
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// fed returns what happens to thread 7 on CPU 1.
func fed(threshold int64, most int, records ...placed) (*stalls, []Stall) {
	s := newStalls(threshold, most)
	s.watch(7, "mine")
	var told []Stall
	for _, r := range records {
		s.step(r, func(stall Stall) { told = append(told, stall) })
	}
	return s, told
}

func at(ns int64, kind kind, a, b uint64, flags ...uint8) placed {
	r := placed{record{ns: ns, kind: kind, a: a, b: b}, 1}
	if len(flags) > 0 {
		r.flags = flags[0]
	}
	return r
}

func TestStallsAreWhatKeptAThreadFromRunning(t *testing.T) {
	elsewhere := at(400, kindWaking, 7, 1)
	elsewhere.cpu = 0 // woken by another CPU
	s, told := fed(10, 100,
		at(0, kindSwitch, 3, 7),
		at(50, kindVectorEntry, 0, 0), at(60, kindSoftirqEntry, 3, 0), at(75, kindSoftirqExit, 3, 0), at(80, kindVectorExit, 0, 0), // 30 of them
		at(100, kindSwitch, 7, 9, flagRunnable), at(200, kindSwitch, 9, 7), // preempted for 100
		at(300, kindSwitch, 7, 0), elsewhere, at(410, kindWakeup, 7, 1), at(450, kindSwitch, 0, 7), // slept 100, woken late by 50
		at(500, kindVectorEntry, 0, 0), at(505, kindVectorExit, 0, 0), // too short to report
		at(600, kindSwitch, 7, 0))
	want := []Stall{{ID: 0, TID: 7, CPU: 1, Kind: Interrupted, BeginNs: 50, EndNs: 80}, {ID: 1, TID: 7, CPU: 1, Kind: Preempted, BeginNs: 100, EndNs: 200},
		{ID: 2, TID: 7, CPU: 1, Kind: Woken, BeginNs: 400, EndNs: 450}}
	if !slices.Equal(told, want) {
		t.Errorf("%+v", told)
	}
	if longest := s.slowest(); longest[0].Kind != Preempted || longest[2].Kind != Interrupted {
		t.Errorf("the longest are %+v", longest)
	}
	thread := s.each(700)[0]
	if thread.RanNs != 100+100+150 || thread.SleptNs != 100+100 || thread.Switches != 3 || thread.Lengths[Interrupted].Histogram().Count() != 2 || thread.Lengths[Woken].Histogram().Count() != 1 {
		t.Errorf("%+v", thread)
	}
}

// An interrupt within a softirq ends first, and is part of one stall.
func TestASpanAndWhatLiesInItAreOneStall(t *testing.T) {
	over := func(begin, end int64, kind spanKind) placed { return placed{spanned(begin, end, kind, 3), 1} }
	s, told := fed(10, 100,
		at(0, kindSwitch, 3, 7),
		over(20, 35, spanVector),
		over(60, 75, spanVector), over(80, 85, spanIRQ), over(50, 90, spanSoftirq),
		over(190, 230, spanSoftirq), at(230, kindSwitch, 7, 0))
	want := []Stall{{ID: 0, TID: 7, CPU: 1, Kind: Interrupted, BeginNs: 20, EndNs: 35}, {ID: 1, TID: 7, CPU: 1, Kind: Interrupted, BeginNs: 50, EndNs: 90},
		{ID: 2, TID: 7, CPU: 1, Kind: Interrupted, BeginNs: 190, EndNs: 230}}
	if !slices.Equal(told, want) {
		t.Errorf("%+v", told)
	}
	if n := s.each(300)[0].Lengths[Interrupted].Histogram().Count(); n != 3 {
		t.Errorf("%d are counted", n)
	}
}

func TestAStoppedThreadIsStalledUntilItRunsAgain(t *testing.T) {
	stop := at(100, kindSwitch, 7, 9)
	stop.part = 'T'
	_, told := fed(10, 100, at(0, kindSwitch, 3, 7), stop, at(500, kindWaking, 7, 1), at(520, kindSwitch, 9, 7))
	if want := []Stall{{TID: 7, CPU: 1, Kind: Stopped, BeginNs: 100, EndNs: 520}}; !slices.Equal(told, want) {
		t.Errorf("%+v", told)
	}
}

func TestWhatWasUnderWayIsNoStall(t *testing.T) {
	_, told := fed(0, 100,
		at(10, kindSoftirqExit, 3, 0), // began before
		at(20, kindSwitch, 7, 9),
		at(30, kindSwitch, 9, 8), at(40, kindVectorEntry, 0, 0), at(90, kindVectorExit, 0, 0)) // of another thread
	if len(told) != 0 {
		t.Errorf("%+v", told)
	}
}

func TestOnlySoManyStallsAreHeld(t *testing.T) {
	var records []placed
	for i := range int64(1000) {
		records = append(records, at(i*10_000, kindSwitch, 7, 9, flagRunnable), at(i*10_000+100+i, kindSwitch, 9, 7))
	}
	s, told := fed(1, 10, records...)
	longest := s.slowest()
	if len(told) != 1000 || len(longest) != 10 || longest[0].LengthNs() != 1099 || longest[9].LengthNs() != 1090 || len(s.found) > 40 {
		t.Errorf("%d told, %d held, %+v", len(told), len(s.found), longest)
	}
}

// TestAThreadsStallsAreFoundInTheKernelsRecords: a thread that sleeps repeatedly is woken as often,
// and the events around its longest stalls are kept.
func TestAThreadsStallsAreFoundInTheKernelsRecords(t *testing.T) {
	r := started(t, Config{Slowest: 5})
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	tid := unix.Gettid()
	begin := monotonic()
	r.WatchThreads(0, map[int]string{tid: "the test's"})
	for range 20 {
		pause := unix.NsecToTimespec(int64(2 * time.Millisecond))
		for {
			err := unix.Nanosleep(&pause, &pause)
			if err == nil {
				break
			}
			if !errors.Is(err, unix.EINTR) { // as Go's runtime signals its threads
				t.Fatal(err)
			}
		}
	}
	recording, err := r.Stop()
	elapsed := monotonic() - begin
	if err != nil {
		t.Fatal(err)
	}
	threads, longest, lost := r.Stalls()
	if len(threads) != 1 || lost != 0 {
		t.Fatalf("%+v, %d lost", threads, lost)
	}
	thread := threads[0]
	// The first sleep may have begun before watching started.
	if woken := thread.Lengths[Woken].Histogram().Count(); woken < 19 || thread.SleptNs < 19*2_000_000 || thread.RanNs+thread.SleptNs > elapsed {
		t.Errorf("woken %d times, slept %d ns, ran %d ns of %d", woken, thread.SleptNs, thread.RanNs, elapsed)
	}
	if len(longest) != 5 || !slices.IsSortedFunc(longest, func(a, b Stall) int { return int(b.LengthNs() - a.LengthNs()) }) {
		t.Errorf("%+v", longest)
	}
	for _, s := range longest {
		if !slices.ContainsFunc(recording.Trace.Stretches, func(held [2]int64) bool { return held[0] <= s.BeginNs && s.EndNs <= held[1] }) {
			t.Errorf("the events of %+v were not kept", s)
		}
	}
}

// Lengths are the same in both representations.
func TestLengthsOfStalls(t *testing.T) {
	for _, count := range []int64{0, 1, fewLengths, fewLengths + 1, 3 * fewLengths} {
		var l Lengths
		for i := range count {
			l.record(1000 + i)
		}
		if got := l.Histogram(); got.Count() != uint64(count) || (l.many != nil) != (count > fewLengths) {
			t.Errorf("%d of %d", got.Count(), count)
		}
	}
}
