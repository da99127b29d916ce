package enginetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"nines.dev/nines/engine/client"
)

// arrivalsDuring runs a trial, and calls look each time that some packets more have come while it runs. look has what
// came so far.
func arrivalsDuring(t *testing.T, engine *client.Client, trial client.Trial, arrivals *client.Arrivals, look func(came int)) client.TrialResult {
	t.Helper()
	done := make(chan struct{})
	r, err := engine.Trial(trial, client.Events{Started: func(client.Started) {
		if err := arrivals.Begin(); err != nil {
			t.Error(err)
		}
		go func() {
			defer close(done)
			for came := 0; arrivals.State() != client.TrialEnded; time.Sleep(time.Millisecond) {
				before := came
				for range arrivals.Next() {
					came++
				}
				if came > before {
					look(came)
				}
			}
		}()
	}})
	if err != nil {
		t.Fatal(err)
	}
	<-done
	return r
}

// awaitState waits for a state of a trial; one that has ended has no other.
func awaitState(arrivals *client.Arrivals, state client.ArrivalsState) {
	for arrivals.State() != state && arrivals.State() != client.TrialEnded {
		time.Sleep(100 * time.Microsecond)
	}
}

// checkWaited checks that packets were due at multiples of a period, and of each pause that had begun its length later.
func checkWaited(t *testing.T, dueNs []int64, period int64, pauses [][2]int64) {
	t.Helper()
	slices.Sort(dueNs)
	waited, pause := int64(0), 0
	for i, due := range dueNs {
		off := due - int64(i)*period - waited
		for pause < len(pauses) && off > period/20 {
			waited += pauses[pause][1]
			off -= pauses[pause][1]
			pause++
		}
		if off < -period/20 || off > period/20 {
			t.Fatalf("packet %d was due at %d, %d ns after its time and the pauses before it, %v", i, due, off, pauses)
		}
	}
}

// TestATrialPauses: pauses belong to no packet, however the thread waits.
func TestATrialPauses(t *testing.T) {
	for _, wait := range []string{"block", "spin", "busy_poll"} {
		t.Run(wait, func(t *testing.T) {
			t.Parallel()
			n := duet(t)
			arrivals, file := newArrivals(t)
			engine := startWith(t, n.generator, arrivals)
			openDuet(t, engine, variant{backend: "raw", io: "batch", wait: wait, frameBytes: 64}, [2]string{"tx", "rx"}, [2]string{"tx-b", "rx-b"})
			trial := duetTrial("loop")
			trial.Arrivals = file
			paused := 0
			r := arrivalsDuring(t, engine, trial, arrivals, func(came int) {
				if paused == 3 || came < 100*(paused+1) {
					return
				}
				paused++
				if err := engine.Pause(); err != nil {
					t.Error(err)
				}
				awaitState(arrivals, client.TrialPaused)
				if paused == 1 {
					time.Sleep(20 * time.Millisecond)
				}
				if err := engine.Resume(); err != nil {
					t.Error(err)
				}
				awaitState(arrivals, client.TrialRunning)
			})
			dueNs := checkArrivals(t, arrivals, r)
			checkSides(t, r, dueNs)
			checkWaited(t, slices.Concat(dueNs[0], dueNs[1]), 500_000, r.Pauses)
			if r.Interrupted || len(r.Pauses) > paused {
				t.Errorf("interrupted %v, %d pauses of %d", r.Interrupted, len(r.Pauses), paused)
			}
			var inBlocks uint64
			for _, block := range r.LatencyBlocks.Counts {
				for i := 1; i < len(block); i += 2 {
					inBlocks += uint64(block[i])
				}
			}
			if inBlocks != r.RxPackets {
				t.Errorf("the blocks hold %d of %d packets", inBlocks, r.RxPackets)
			}
		})
	}
}

// TestATrialIsStopped: it ends as if it had been so short, and all that was sent arrives.
func TestATrialIsStopped(t *testing.T) {
	for _, role := range []string{"loop", "generate"} {
		for _, wait := range []string{"block", "spin"} {
			t.Run(fmt.Sprint(role, " ", wait), func(t *testing.T) {
				t.Parallel()
				n := direct(t, 1500)
				arrivals, file := newArrivals(t)
				engine := startWith(t, n.generator, arrivals)
				v := variant{backend: "raw", io: "batch", wait: wait, frameBytes: 64}
				open(t, engine, v.port("rx", ""))
				open(t, engine, v.port("tx", "rx"))
				trial := v.trial("tx", "rx")
				trial.DurationNs, trial.Arrivals = 3600e9, file
				if role == "generate" {
					trial.Role, trial.Streams[0].Rx, trial.Arrivals = role, "", ""
					r, err := engine.Trial(trial, client.Events{Progress: func(client.Progress) { _ = engine.Finish() }})
					checkStopped(t, r, err)
					return
				}
				paused := false
				r := arrivalsDuring(t, engine, trial, arrivals, func(came int) {
					if came < 200 {
						return
					}
					if !paused {
						paused = true
						_ = engine.Pause()
						awaitState(arrivals, client.TrialPaused)
					}
					if err := engine.Finish(); err != nil { // also in a pause
						t.Error(err)
					}
				})
				checkStopped(t, r, nil)
				checkAll(t, r)
				checkWaited(t, checkArrivals(t, arrivals, r)[0], 500_000, r.Pauses)
			})
		}
	}
}

func checkStopped(t *testing.T, r client.TrialResult, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if want := uint64(r.StoppedNs+499_999) / 500_000; r.Interrupted || r.StoppedNs == 0 || r.IntendedPackets != want || r.TxPackets == 0 || r.TxPackets > want {
		t.Errorf("interrupted %v, stopped after %d ns, sent %d of %d, want %d", r.Interrupted, r.StoppedNs, r.TxPackets, r.IntendedPackets, want)
	}
}

// TestAWarmUpIsAborted: it has nothing to tell.
func TestAWarmUpIsAborted(t *testing.T) {
	t.Parallel()
	n := direct(t, 1500)
	engine := startEngine(t, n.generator)
	v := variant{backend: "raw", io: "batch", wait: "block", frameBytes: 64}
	open(t, engine, v.port("rx", ""))
	open(t, engine, v.port("tx", "rx"))
	trial := v.trial("tx", "rx")
	trial.WarmupNs = 3600e9
	r, err := engine.Trial(trial, client.Events{Started: func(client.Started) { _ = engine.Finish() }})
	if err != nil || !r.Interrupted || r.StoppedNs != 0 {
		t.Errorf("interrupted %v after %d ns, %v", r.Interrupted, r.StoppedNs, err)
	}
}

// TestLooksTakeAllThatWasSent: in each pause all packets before it are there, in the order in which they were due, also
// the lost ones, and none twice.
func TestLooksTakeAllThatWasSent(t *testing.T) {
	t.Parallel()
	arrivals, file := newArrivals(t)
	engine := startWith(t, "", arrivals)
	for i, side := range []string{"", "-b"} {
		open(t, engine, client.Port{
			Name: "tx" + side, Backend: "fault", Interface: "x" + side, LocalIP: "10.0.0.1", PeerIP: "10.0.0.2", LocalMAC: macs["tx"], PeerMAC: macs["rx"],
			Wait: "spin", Fault: &client.Fault{Drop: 0.1 * float64(i+1), Seed: 5},
		})
		open(t, engine, client.Port{Name: "rx" + side, Backend: "memory", Interface: "x" + side, LocalIP: "10.0.0.2", Wait: "spin"})
	}
	trial := duetTrial("loop")
	trial.Arrivals, trial.DurationNs, trial.DrainNs = file, 400e6, 50e6
	var taken []client.Sent
	looks := 0
	begun := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		<-begun
		for looks < 4 && arrivals.State() != client.TrialEnded {
			_ = engine.Pause() // or the trial has just ended
			awaitState(arrivals, client.TrialPaused)
			if arrivals.State() != client.TrialEnded {
				taken = append(taken, arrivals.Take()...)
				looks++
			}
			_ = engine.Resume()
			awaitState(arrivals, client.TrialRunning)
			time.Sleep(50 * time.Millisecond)
		}
	}()
	r, err := engine.Trial(trial, client.Events{Started: func(client.Started) {
		if err := arrivals.Begin(); err != nil {
			t.Error(err)
		}
		close(begun)
	}})
	if err != nil {
		t.Fatal(err)
	}
	<-done
	taken = append(taken, arrivals.Take()...)
	var lost, sent [2]uint64
	var dueNs []int64
	for _, one := range taken {
		side := 0
		if one.SideB {
			side = 1
		}
		sent[side]++
		if one.ReceivedNs == client.NotReceived {
			lost[side]++
		}
		dueNs = append(dueNs, one.DueNs)
	}
	if !slices.IsSorted(dueNs) || arrivals.Late() != 0 {
		t.Errorf("not in the order of time, or %d arrived after they were lost", arrivals.Late())
	}
	for side, s := range r.Streams {
		if sent[side] != s.TxPackets || lost[side] != s.TxPackets-s.RxPackets || lost[side] == 0 {
			t.Errorf("side %s: %d sent and %d lost, want %d and %d", s.Name, sent[side], lost[side], s.TxPackets, s.TxPackets-s.RxPackets)
		}
	}
	checkWaited(t, dueNs, 500_000, r.Pauses)
	if looks == 4 && len(r.Pauses) == 0 {
		t.Error("no pause is told of")
	}
}

// TestAPairPauses: both halves do, and the sink keeps what came of both sides, by its own measured start.
func TestAPairPauses(t *testing.T) {
	t.Parallel()
	n := duet(t)
	arrivals, file := newArrivals(t)
	sink, generator := startWith(t, n.generator, arrivals), startEngine(t, n.generator)
	v := variant{backend: "raw", io: "batch", wait: "block", frameBytes: 64}
	sending, receiving := duetTrial("generate"), duetTrial("sink")
	for i, ends := range [][2]string{{"tx", "rx"}, {"tx-b", "rx-b"}} {
		open(t, sink, v.port(ends[1], ""))
		open(t, generator, v.port(ends[0], ends[1]))
		sending.Streams[i].Rx, receiving.Streams[i].Tx = "", ""
	}
	receiving.Arrivals = file
	receiving.StartNs = monotonic(t) + 5e9
	sending.StartNs = receiving.StartNs
	both := []*client.Client{generator, sink}
	began, taken := make(chan struct{}), make(chan []client.Sent, 1)
	go func() {
		<-began
		for came := 0; came < 100 && arrivals.State() != client.TrialEnded; time.Sleep(time.Millisecond) {
			for range arrivals.Next() {
				came++
			}
		}
		for _, engine := range both {
			_ = engine.Pause() // or it has just ended
		}
		awaitState(arrivals, client.TrialPaused)
		_ = arrivals.Begin() // Take begins with the first packet
		taken <- arrivals.Take()
		for _, engine := range both {
			_ = engine.Resume()
		}
	}()
	done := make(chan outcome, 1)
	go func() {
		r, err := sink.Trial(receiving, client.Events{Started: func(client.Started) {
			if err := arrivals.Begin(); err != nil {
				t.Error(err)
			}
			close(began)
		}})
		done <- outcome{r, err}
	}()
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
	first := <-taken
	all := append(first, arrivals.Take()...)
	var dueNs []int64
	for _, one := range all {
		dueNs = append(dueNs, one.DueNs)
		if one.ReceivedNs == client.NotReceived {
			t.Errorf("%+v", one)
		}
	}
	if got.RxPackets != left.TxPackets || uint64(len(all)) != left.TxPackets || arrivals.Late() != 0 {
		t.Errorf("%d sent, %d received, %d taken, %d of them late", left.TxPackets, got.RxPackets, len(all), arrivals.Late())
	}
	checkWaited(t, dueNs, 500_000, left.Pauses)
}
