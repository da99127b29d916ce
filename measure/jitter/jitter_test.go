package jitter

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/test/labtest"
)

// watched is a second with gaps of the given lengths; lengths below 2048 ns are their own index in
// the histogram.
func watched(lengths ...int64) client.Watched {
	w := client.Watched{CPU: 3, ElapsedNs: 1e9}
	for _, ns := range lengths {
		w.Gaps.Count++
		w.Gaps.TotalNs += ns
		w.Gaps.MaxNs = max(w.Gaps.MaxNs, ns)
		w.Lengths.Counts = append(w.Lengths.Counts, [2]int64{indexOf(ns), 1})
	}
	return w
}

// indexOf is HdrHistogram's countsArrayIndex for 3 significant digits.
func indexOf(ns int64) int64 {
	bucket := int64(0)
	for ns>>bucket >= 1<<subBits {
		bucket++
	}
	return bucket<<(subBits-1) + ns>>bucket
}

func summaryOf(seconds ...client.Watched) CPU {
	g := gathered{CPU: CPU{CPU: 3}, counts: map[int64]uint64{}}
	for _, w := range seconds {
		g.add(w)
	}
	return g.summary()
}

func TestTheHistogramsIndexGoesBackToItsLength(t *testing.T) {
	for _, ns := range []int64{0, 1, 1023, 1024, 2047, 2048, 4095, 4096, 1e6, 1e9, 59e9} {
		got := lengthAt(indexOf(ns))
		if got > ns || float64(ns-got) > float64(ns)/1000 {
			t.Errorf("%d became %d", ns, got)
		}
	}
}

func TestASummaryCountsWhatAPacketNotices(t *testing.T) {
	c := summaryOf(watched(1500, 9000, 20000), watched(40960))
	if c.Gaps != 4 || c.LongGaps != 2 || c.LongGapsASecond != 1 || c.LongestNs != 40960 || c.TakenNs != 71460 {
		t.Errorf("%+v", c)
	}
	if len(c.Slices) != 2 || c.Slices[0] != 30500 || c.Slices[1] != 40960 {
		t.Errorf("slices %v", c.Slices)
	}
	if c.GapP9999Ns != 0 {
		t.Errorf("p99.99 of 4 gaps is %d", c.GapP9999Ns)
	}
}

// One packet in 10^4 may arrive within 100 µs of a second: a gap of 1 ms makes it wait 900 µs, and
// if all gaps together are shorter, it does not wait.
func TestTheWaitOfOnePacketInTenThousand(t *testing.T) {
	if c := summaryOf(watched(1 << 20)); math.Abs(float64(c.WaitP9999Ns)-(1<<20-1e5)) > 1e3 {
		t.Errorf("one gap: %d", c.WaitP9999Ns)
	}
	if c := summaryOf(watched(50000)); c.WaitP9999Ns != 0 {
		t.Errorf("a short gap: %d", c.WaitP9999Ns)
	}
	// Two of 80 µs: 2·(80−x) = 100.
	if c := summaryOf(watched(81920, 81920)); math.Abs(float64(c.WaitP9999Ns)-31920) > 100 {
		t.Errorf("two gaps: %d", c.WaitP9999Ns)
	}
}

// By brute force: packets arrive at every instant, and the lengths differ.
func TestTheWaitAgainstCounting(t *testing.T) {
	lengths := []int64{300_000, 40_000, 40_000, 7_000}
	var waits []int64
	for _, l := range lengths {
		for at := int64(0); at < l; at += 100 {
			waits = append(waits, l-at)
		}
	}
	allowed, want := 1e9/oneIn/100, int64(0)
	for x := int64(0); ; x += 100 {
		var longer float64
		for _, w := range waits {
			if w > x {
				longer++
			}
		}
		if longer <= allowed {
			want = x
			break
		}
	}
	if c := summaryOf(watched(lengths...)); math.Abs(float64(c.WaitP9999Ns-want)) > 1000 {
		t.Errorf("%d, counted %d", c.WaitP9999Ns, want)
	}
}

func TestTheLengthThatOneGapOfTenThousandExceeds(t *testing.T) {
	w := watched(5000, 6000)
	w.Gaps.Count += 29_998
	w.Lengths.Counts = append(w.Lengths.Counts, [2]int64{1500, 29_998})
	if c := summaryOf(w); c.GapP9999Ns != 1500 { // 3 of 30000 may be longer
		t.Errorf("%d", c.GapP9999Ns)
	}
	w.Lengths.Counts = append(w.Lengths.Counts, [2]int64{indexOf(7000), 2})
	w.Gaps.Count += 2
	if c := summaryOf(w); c.GapP9999Ns != lengthAt(indexOf(5000)) {
		t.Errorf("%d", c.GapP9999Ns)
	}
}

func cpu(slices ...float64) CPU { return CPU{CPU: 1, Slices: slices, TakenNs: 1e6} }

func TestACheckSaysHonestlyWhetherItHelped(t *testing.T) {
	noisy := cpu(90, 110, 100, 95, 105, 99, 101, 103)
	cases := map[string]struct {
		before, after CPU
		want          Outcome
		words         string
	}{
		"half":      {noisy, cpu(50, 52, 48, 49, 51, 50, 53, 47), Helped, "100 %"},
		"double":    {noisy, cpu(200, 210, 190, 195, 205, 199, 201, 203), Worse, "less now in 0 %"},
		"same":      {noisy, cpu(110, 90, 95, 100, 99, 105, 103, 101), Unclear, ""},
		"one spike": {noisy, cpu(90, 110, 100, 95, 105, 99, 101, 9000), Unclear, ""},
		"5 % less":  {cpu(100, 100, 100, 100, 100, 100, 100, 100), cpu(95, 95, 95, 95, 95, 95, 95, 95), Unclear, ""},
		"too short": {noisy, cpu(1, 1, 1), Unclear, "too short"},
	}
	for name, c := range cases {
		got := compare(c.before, c.after)
		if got.Outcome != c.want || !strings.Contains(got.Why, c.words) {
			t.Errorf("%s: %s, %s", name, got.Outcome, got.Why)
		}
	}
	stolen := noisy
	stolen.StealNs = 9e5
	if got := compare(stolen, noisy); !strings.Contains(got.Why, "hypervisor") {
		t.Errorf("no word of the hypervisor: %s", got.Why)
	}
}

// The chance that two sets of 8 equal slices count as different.
func TestTheChanceOfAWrongWord(t *testing.T) {
	// ways[n][m][u]: orders of n and m slices with u pairs won, counted by the last one.
	const n = leastSlices
	var ways [n + 1][n + 1][n*n + 1]float64
	for i := range n + 1 {
		for j := range n + 1 {
			if i == 0 || j == 0 {
				ways[i][j][0] = 1
				continue
			}
			for u := range n*n + 1 {
				ways[i][j][u] = ways[i][j-1][u]
				if u >= j {
					ways[i][j][u] += ways[i-1][j][u-j]
				}
			}
		}
	}
	var tail, all float64
	for u, w := range ways[n][n] {
		all += w
		if share := float64(u) / (n * n); share >= clear || share <= 1-clear {
			tail += w
		}
	}
	if p := tail / all; math.Abs(p-0.0047) > 0.0001 {
		t.Errorf("p = %.5f; the comment of leastSlices says otherwise", p)
	}
}

func TestTheStoreRemembersTheCheckOfBefore(t *testing.T) {
	s := Store{filepath.Join(t.TempDir(), "a", "b")}
	if c, err := s.Before(); c != nil || err != nil {
		t.Fatalf("%v, %v", c, err)
	}
	for i, untuned := range []bool{true, false} {
		if err := s.Keep(Check{Kernel: []string{"untuned", "tuned"}[i]}, untuned); err != nil {
			t.Fatal(err)
		}
	}
	if c, err := s.Before(); err != nil || c.Kernel != "untuned" {
		t.Errorf("%+v, %v", c, err)
	}
}

func enginePath(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("NINES_LIBEXEC")
	if dir == "" {
		dir = filepath.Join("..", "..", "bin")
	}
	path := filepath.Join(dir, "nines-engine")
	_, err := os.Stat(path)
	labtest.Require(t, "nines-engine (make build)", err == nil)
	return path
}

func TestRunMeasuresAllCPUsAtOnce(t *testing.T) {
	check, err := Run(context.Background(), Options{CPUs: []int{0, 1}, Duration: 2 * time.Second, Engine: enginePath(t)})
	if err != nil {
		t.Fatal(err)
	}
	if len(check.CPUs) != 2 || check.CPUs[0].CPU != 0 || check.CPUs[1].CPU != 1 {
		t.Fatalf("%+v", check)
	}
	for _, c := range check.CPUs {
		if len(c.Slices) != 2 || c.ElapsedNs <= 0 || c.TakenNs > c.ElapsedNs || c.LongestNs > c.TakenNs {
			t.Errorf("%+v", c)
		}
	}
	var out bytes.Buffer
	if err := check.Write(&out); err != nil || strings.Count(out.String(), "\n") != 3 {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Run(ctx, Options{CPUs: []int{0}, Duration: time.Hour, Engine: enginePath(t)})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestRunRefusesACPUThatIsNotThere(t *testing.T) {
	_, err := Run(context.Background(), Options{CPUs: []int{4000}, Duration: time.Second, Engine: enginePath(t)})
	if err == nil || !strings.Contains(err.Error(), "CPU 4000") {
		t.Error(err)
	}
}
