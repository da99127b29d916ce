package stall

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"nines.dev/nines/analysis/attribution"
	"nines.dev/nines/measure/trace"
	"nines.dev/nines/result"
)

func TestEachCPUKeepsItsOwnLongestGaps(t *testing.T) {
	held := map[int]trace.Packet{} // like the recorder, by place
	quiet, noisy := longest{first: 0, most: 2}, longest{first: 2, most: 3}
	keep := func(p trace.Packet) { held[p.Place] = p }
	gap := func(ns int64) trace.Packet { return trace.Packet{LatencyNs: ns, EndNs: ns} }
	quiet.offer(gap(5), keep)
	for _, ns := range []int64{10, 30, 20, 15, 40, 5, 50} {
		noisy.offer(gap(ns), keep)
	}
	var lengths []int64
	for _, p := range noisy.kept {
		lengths = append(lengths, p.LatencyNs)
		if held[p.Place] != p {
			t.Errorf("the recorder holds %+v in the place of %+v", held[p.Place], p)
		}
	}
	slices.Sort(lengths)
	if !slices.Equal(lengths, []int64{30, 40, 50}) || len(quiet.kept) != 1 || held[0].LatencyNs != 5 || len(held) != 4 {
		t.Errorf("%v, %+v", lengths, held)
	}
}

func TestWhatIsNotRecordedIsToldOnceForEachReason(t *testing.T) {
	got := notRecorded([]string{"a_entry: not built", "b: no functions", "a_exit: not built", "c"})
	if want := []string{"not recorded: a_entry, a_exit: not built", "not recorded: b: no functions", "not recorded: c"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// TestThreadsOfAProcessAndItsDescendants: they are found by the lists of children, and where the kernel
// has none, by the processes' parents.
func TestThreadsOfAProcessAndItsDescendants(t *testing.T) {
	for _, listed := range []bool{true, false} {
		root := t.TempDir()
		write := func(path, text string) {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		task := func(parent, pid, tid int, name, children string) {
			process := filepath.Join(root, "proc", strconv.Itoa(pid))
			dir := filepath.Join(process, "task", strconv.Itoa(tid))
			write(filepath.Join(dir, "comm"), name+"\n")
			if listed {
				write(filepath.Join(dir, "children"), children)
			} else {
				write(filepath.Join(process, "stat"), fmt.Sprintf("%d (%s) S %d 0 0", pid, name, parent))
			}
		}
		task(1, 10, 10, "make", "20 21 ")
		task(1, 10, 11, "helper", "")
		task(10, 20, 20, "c) S 40 (c", "30 ")
		task(20, 30, 30, "as", "")
		task(1, 40, 40, "other", "")
		threads := threadsOf(root, 10) // 21 has ended
		if len(threads) != 4 || threads[10] != "make" || threads[11] != "helper" || threads[20] != "c) S 40 (c" || threads[30] != "as" {
			t.Errorf("with lists of children %v: %v", listed, threads)
		}
	}
}

// A gap without recorded events is neither explained nor reported as unexplained.
func TestOnlyGapsWhoseEventsWereKeptAreExplained(t *testing.T) {
	r := Report{startedNs: 1000, recording: trace.Recording{Trace: result.Trace{Stretches: [][2]int64{{0, 60_000}}}}}
	s := Subject{CPU: 1, thread: result.TracedThread{Role: result.RoleProgram, TID: 7, CPU: 1, Spins: true},
		outliers: []result.Outlier{stalled(1, 1, 2000, 42_000, 1000), stalled(2, 1, 100_000, 180_000, 1000)}}
	r.recording.Events = []result.Event{{Kind: result.EventThread, CPU: 1, TID: 9, Name: "hog", BeginNs: 2000, EndNs: 42_000, Other: -1},
		{Kind: result.EventThread, CPU: 1, TID: 7, Name: "spin", BeginNs: 0, EndNs: 2000, Other: -1, Preempted: true}}
	r.explain(&s)
	if s.Explained != 1 || s.ExplainedNs != 40_000 || s.longestNs != 40_000 || len(s.Shares) != 1 || s.Shares[0].Cause.Kind != attribution.Hog {
		t.Errorf("%d gaps of %d ns, the longest of %d, are explained by %+v", s.Explained, s.ExplainedNs, s.longestNs, s.Shares)
	}
	if s.outliers[0].Cause != "" || s.outliers[1].Cause != "hog hog (CPU 1)" {
		t.Errorf("the causes are %q and %q", s.outliers[0].Cause, s.outliers[1].Cause)
	}
}
