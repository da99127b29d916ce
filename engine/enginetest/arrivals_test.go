package enginetest

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/test/labtest"
)

// newArrivals returns memory for arrivals, and the name that an engine has for it, which got its file alone.
func newArrivals(t *testing.T) (*client.Arrivals, string) {
	t.Helper()
	arrivals, err := client.NewArrivals()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { arrivals.Close() })
	return arrivals, "fd:3"
}

// startWith starts an engine in a namespace (empty: in the test's) that has inherited the memory for arrivals.
func startWith(t *testing.T, ns string, arrivals *client.Arrivals) *client.Client {
	t.Helper()
	engine := labtest.StartEngine(t, ns, arrivals.File())
	if _, err := engine.Hello(); err != nil {
		t.Fatal(err)
	}
	return engine.Client
}

// checkDue checks that times are multiples of a period, each once. The counter of ticks and the one of ns may differ
// by much less than that.
func checkDue(t *testing.T, dueNs []int64, period int64) {
	t.Helper()
	slices.Sort(dueNs)
	for i, due := range dueNs {
		if off := due - int64(i)*period; off < -period/20 || off > period/20 {
			t.Fatalf("packet %d was due at %d ns, want %d", i, due, int64(i)*period)
		}
	}
}

// checkArrivals checks the arrivals of a trial that has ended against its counts and histograms, and returns when its
// packets were due, of both sides.
func checkArrivals(t *testing.T, arrivals *client.Arrivals, r client.TrialResult) (dueNs [2][]int64) {
	t.Helper()
	if err := arrivals.Begin(); err != nil {
		t.Fatal(err)
	}
	if r.Arrivals == nil || !r.Arrivals.Whole() || r.Arrivals.OneIn != 1 || arrivals.OneIn() != 1 || arrivals.State() != client.TrialEnded {
		t.Errorf("%+v, state %d", r.Arrivals, arrivals.State())
	}
	side := map[bool]int{true: 1}
	var count uint64
	least, most, sum, received := int64(math.MaxInt64), int64(0), int64(0), int64(math.MinInt64)/2
	for a := range arrivals.Next() {
		count++
		least, most, sum = min(least, a.LatencyNs), max(most, a.LatencyNs), sum+a.LatencyNs
		if a.DueNs+a.LatencyNs < received-1 { // a nanosecond is rounded
			t.Fatalf("a packet arrived at %d, after one at %d", a.DueNs+a.LatencyNs, received)
		}
		received = a.DueNs + a.LatencyNs
		dueNs[side[a.SideB]] = append(dueNs[side[a.SideB]], a.DueNs)
	}
	if l := r.Latency; count != r.RxPackets || least != l.Min || most != l.Max || float64(sum) != l.Sum {
		t.Errorf("%d packets took %d to %d ns, %d in all; the trial says %d: %d to %d ns, %.0f", count, least, most, sum, r.RxPackets, l.Min, l.Max, l.Sum)
	}
	var lost uint64
	for l := range arrivals.Lost() {
		lost++
		dueNs[side[l.SideB]] = append(dueNs[side[l.SideB]], l.DueNs)
	}
	if want := r.TxPackets - r.RxPackets; lost != want || r.Arrivals.Lost != want {
		t.Errorf("%d lost packets are listed and %d counted, want %d", lost, r.Arrivals.Lost, want)
	}
	return dueNs
}

// TestArrivalsOfALink: each packet's latency, and when it was due, also where the file has more room from the trial
// before.
func TestArrivalsOfALink(t *testing.T) {
	t.Parallel()
	n := direct(t, 1500)
	arrivals, file := newArrivals(t)
	engine := startWith(t, n.generator, arrivals)
	if err := arrivals.Begin(); err == nil || !strings.Contains(err.Error(), "no trial has begun") {
		t.Errorf("before the first trial: %v", err)
	}
	v := variant{backend: "raw", io: "batch", wait: "block", frameBytes: 64}
	open(t, engine, v.port("rx", ""))
	open(t, engine, v.port("tx", "rx"))
	for _, durationNs := range []int64{250e6, 100e6} {
		trial := v.trial("tx", "rx")
		trial.Arrivals, trial.DurationNs = file, durationNs
		r := sent(t, engine, trial)
		dueNs := checkArrivals(t, arrivals, r)
		if len(dueNs[1]) > 0 {
			t.Errorf("%d packets of side B", len(dueNs[1]))
		}
		checkDue(t, dueNs[0], 500_000)
	}
}

// TestArrivalsOfAPair: a sink keeps them, and knows when the packets were due that did not come.
func TestArrivalsOfAPair(t *testing.T) {
	t.Parallel()
	n := direct(t, 1500)
	arrivals, file := newArrivals(t)
	sink, generator := startWith(t, n.generator, arrivals), startEngine(t, n.generator)
	v := variant{backend: "udp", io: "single", wait: "block", frameBytes: 64}
	open(t, sink, v.port("rx", ""))
	open(t, generator, v.port("tx", "rx"))
	receiving := slowTrial("sink", "", "rx")
	receiving.Arrivals = file
	startNs, done := begin(t, sink, receiving)
	sending := slowTrial("generate", "tx", "")
	sending.StartNs = startNs + 1e9
	left, err := generator.Trial(sending, client.Events{})
	if err != nil {
		t.Fatal(err)
	}
	if err := sink.End(left.TxPackets); err != nil {
		t.Fatal(err)
	}
	got := <-done
	if got.err != nil {
		t.Fatal(got.err)
	}
	got.TxPackets = left.TxPackets
	checkArrivals(t, arrivals, got.TrialResult)
}

// TestArrivalsWithLoss: lost packets are listed by when they were due. The arrivals are read while they come, too.
func TestArrivalsWithLoss(t *testing.T) {
	t.Parallel()
	arrivals, file := newArrivals(t)
	engine := startWith(t, "", arrivals)
	faulty := client.Port{Name: "tx", Backend: "fault", Interface: "x", LocalIP: "10.0.0.1", PeerIP: "10.0.0.2", LocalMAC: macs["tx"], PeerMAC: macs["rx"],
		Wait: "spin", Fault: &client.Fault{Drop: 0.2, Seed: 5}}
	open(t, engine, faulty)
	open(t, engine, client.Port{Name: "rx", Backend: "memory", Interface: "x", LocalIP: "10.0.0.2", Wait: "spin"})
	trial := client.Trial{
		Role: "loop", CPU: -1, Streams: []client.Stream{{Tx: "tx", Rx: "rx", RatePPS: 10_000, Seed: 1}},
		WarmupNs: 10e6, DurationNs: 200e6, DrainNs: 20e6, Arrivals: file,
	}
	read := make(chan int, 1)
	r, err := engine.Trial(trial, client.Events{Started: func(client.Started) {
		if err := arrivals.Begin(); err != nil {
			t.Error(err)
		}
		go func() {
			count := 0
			for ended := false; !ended; {
				ended = arrivals.State() == client.TrialEnded // before the last look
				for range arrivals.Next() {
					count++
				}
			}
			read <- count
		}()
	}})
	if err != nil {
		t.Fatal(err)
	}
	if count := <-read; uint64(count) != r.RxPackets {
		t.Errorf("%d packets were read as they came, and %d came", count, r.RxPackets)
	}
	if r.RxPackets == r.TxPackets {
		t.Error("nothing was lost")
	}
	checkDue(t, checkArrivals(t, arrivals, r)[0], 100_000)
}

// TestArrivalsBelongInMemory: a file on a disk is refused before anything is sent.
func TestArrivalsBelongInMemory(t *testing.T) {
	t.Parallel()
	file := filepath.Join("/var/tmp", "nines-arrivals-test")
	var holds unix.Statfs_t
	err := unix.Statfs(filepath.Dir(file), &holds)
	labtest.Require(t, "a folder "+filepath.Dir(file)+" that is not in memory", err == nil && holds.Type != unix.TMPFS_MAGIC)
	t.Cleanup(func() { os.Remove(file) })
	engine := labtest.StartEngine(t, "")
	open(t, engine.Client, client.Port{Name: "x", Backend: "memory", Interface: "x", Wait: "spin"})
	_, err = engine.Trial(client.Trial{
		Role: "loop", CPU: -1, Streams: []client.Stream{{Tx: "x", Rx: "x", RatePPS: 1000}}, DurationNs: 1e6, Arrivals: file,
	}, client.Events{})
	refusal(t, "a file on a disk", err, "EMEDIUMTYPE", "not in memory")
}
