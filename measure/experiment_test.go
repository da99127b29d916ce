package measure

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/lab"
	"nines.dev/nines/result"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// The networks of these tests. A trial ends when all packets have arrived; the drain is for a host
// that takes the CPU away for long.
//
//	loop   gen:tx ──in── dut:in ▸ forward ▸ dut:out ──out── gen:rx
//	pair   a:eth ──wire── b:eth
//	own    gen:tx ──wire── gen:rx
const (
	loopNetwork = `
topology:
  nodes:
    gen: {}
    dut: {app: {kind: forward}}
  links:
    - {name: in, endpoints: ["gen:tx", "dut:in"]}
    - {name: out, endpoints: ["dut:out", "gen:rx"]}
traffic: {from: "gen:tx", to: "gen:rx", rate_pps: 2000, duration: 300ms, warmup: 50ms, drain: 3s, outliers: 10}
`
	pairNetwork = `
topology:
  nodes: {a: {}, b: {}}
  links: [{name: wire, endpoints: ["a:eth", "b:eth"]}]
traffic: {from: "a:eth", to: "b:eth", rate_pps: 2000, duration: 300ms, warmup: 50ms, drain: 3s, outliers: 10}
`
	ownNetwork = `
topology:
  nodes: {gen: {}}
  links: [{name: wire, endpoints: ["gen:tx", "gen:rx"]}]
traffic: {from: "gen:tx", to: "gen:rx", rate_pps: 2000, duration: 300ms, warmup: 50ms, drain: 3s, outliers: 10}
`
)

// silent prints nothing, but may act when a trial begins, has received something, or ends.
type silent struct{ began, received, measured func() }

func (s silent) Doing(string)            {}
func (s silent) Noted(string)            {}
func (s silent) Baseline(map[string]any) {}
func (s silent) Trial(map[string]any, int, time.Duration) {
	if s.began != nil {
		s.began()
	}
}
func (s silent) Maximum(map[string]any, time.Duration) {}
func (s silent) Skipped(result.Skipped)                {}
func (s silent) Searching(SearchState) {
	if s.began != nil {
		s.began()
	}
}
func (s silent) Window(result.Trial) {
	if s.measured != nil {
		s.measured()
	}
}
func (s silent) Found(result.Search) {}
func (s silent) Looked(result.Duet)  {}
func (s silent) Progress(now Progress) {
	if s.received != nil && now.Received > 0 {
		s.received()
	}
}
func (s silent) Measured(result.Trial) {
	if s.measured != nil {
		s.measured()
	}
}
func (s silent) Died(Death) {}

func prepare(t *testing.T, name, network string, sets ...string) (*Experiment, *result.Writer) {
	t.Helper()
	file, err := spec.Load("test.yaml", []byte("name: "+name+network))
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range sets {
		if err := file.Set(set); err != nil {
			t.Fatal(err)
		}
	}
	inventory, err := host.Read()
	if err != nil {
		t.Fatal(err)
	}
	experiment, err := Prepare(file, inventory)
	if err != nil {
		t.Fatal(err)
	}
	writer, err := result.Create(t.TempDir(), name, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return experiment, writer
}

// measureAll runs an experiment from beginning to end.
func measureAll(ctx context.Context, experiment *Experiment, writer *result.Writer, watch Watcher) error {
	session, err := experiment.Begin(ctx)
	if err != nil {
		return err
	}
	return session.Measure(ctx, writer, watch)
}

// finish measures an experiment, checks that no lab is left, and opens its result.
func finish(t *testing.T, experiment *Experiment, writer *result.Writer) *result.Result {
	t.Helper()
	if err := measureAll(context.Background(), experiment, writer, silent{}); err != nil {
		t.Fatal(err)
	}
	noLabLeft(t)
	done, err := result.Open(writer.Dir())
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// noLabLeft fails the test if the experiment left its lab up.
func noLabLeft(t *testing.T) {
	t.Helper()
	labs, err := lab.List()
	if err != nil {
		t.Fatal(err)
	}
	if len(labs) != 0 {
		t.Errorf("labs are left: %+v", labs)
	}
}

func TestEveryPacketIsAccountedFor(t *testing.T) {
	labtest.Experiment(t)
	for name, network := range map[string]string{"loop": loopNetwork, "pair": pairNetwork, "own": ownNetwork} {
		t.Run(name, func(t *testing.T) {
			experiment, writer := prepare(t, name, network, "repeat=2", "sweep.links.*.kind=[veth, bridge]", "traffic.wait=block")
			done := finish(t, experiment, writer)
			if len(done.Summary.Trials) != 4 {
				t.Fatalf("%d trials, want 2 kinds × 2 repeats", len(done.Summary.Trials))
			}
			for i, trial := range done.Summary.Trials {
				// 0.3 s at 2,000 a second are 600. A host that takes the CPU away may prevent some
				// sends, and then the verdict must say so.
				if trial.TxPackets > 600 || trial.TxPackets < 600 && trial.Verdict != result.Invalid {
					t.Errorf("trial %s sent %d of 600 packets and is %s", trial.ID, trial.TxPackets, trial.Verdict)
				}
				if trial.TxPackets > 0 && trial.RxPackets == 0 || trial.Latency.Count != trial.RxPackets {
					t.Errorf("trial %s received %d packets and recorded %d", trial.ID, trial.RxPackets, trial.Latency.Count)
				}
				if kind, want := trial.Variables["links.*.kind"], []string{"veth", "bridge"}[i%2]; kind != want {
					t.Errorf("trial %s has the kind %v, want %s: the order is interleaved", trial.ID, kind, want)
				}
			}
			startsAreTold(t, done)
			wakesAreNoGaps(t, done)
			for _, baseline := range done.Baselines {
				if baseline.RxPackets == 0 {
					t.Errorf("baseline %s (%s) received nothing: %q", baseline.ID, baseline.When, baseline.Reasons)
				}
			}
			if len(done.Baselines) != 2 {
				t.Errorf("%d baselines, want one before and one after: both kinds have the same stream", len(done.Baselines))
			}
		})
	}
}

// startsAreTold checks that a trial's start by the time of day, in its details and in its log, is
// the moment at which the engines agreed to begin to measure.
func startsAreTold(t *testing.T, done *result.Result) {
	t.Helper()
	for _, trial := range done.Summary.Trials {
		d, err := done.TrialFolder(trial.ID).Details()
		if err != nil {
			t.Fatal(err)
		}
		// The clocks are this host's. The nearest of some readings leaves out those between which
		// this thread lost its CPU.
		apart, width := int64(0), int64(math.MaxInt64)
		for range 100 {
			var before, after unix.Timespec
			_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &before)
			day := time.Now().UnixNano()
			_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &after)
			if took := after.Nano() - before.Nano(); took < width {
				apart, width = day-before.Nano(), took
			}
		}
		// A clock that is being set right moves by up to 500 ppm, in tests of seconds.
		if off := time.Duration(d.StartedUnixNs - d.StartedNs - apart).Abs(); off > 50*time.Millisecond {
			t.Errorf("trial %s: its start by the time of day is %v away from that by the engines' clock", trial.ID, off)
		}
		started := time.Unix(0, d.StartedUnixNs)
		intervals, err := done.TrialFolder(trial.ID).Intervals()
		if err != nil {
			t.Fatal(err)
		}
		if at := intervals[0].Start; !at.Equal(started.Truncate(time.Millisecond)) {
			t.Errorf("trial %s: its log starts at %v, not %v", trial.ID, at, started)
		}
	}
}

// wakesAreNoGaps: these threads sleep between packets, and their meters tell by how much the timers
// woke them late. No reason counts that as time that the host took.
func wakesAreNoGaps(t *testing.T, done *result.Result) {
	t.Helper()
	for _, trial := range done.Summary.Trials {
		if trial.Verdict == result.Invalid {
			continue // a sender that a busy host keeps from its CPU is behind its schedule, and never sleeps
		}
		d, err := done.TrialFolder(trial.ID).Details()
		if err != nil {
			t.Fatal(err)
		}
		// The first is that of the sender, which sleeps until a packet is due.
		if wakes := d.Gaps[0].Wakes; wakes == nil || wakes.Count == 0 || wakes.MaxNs > wakes.TotalNs {
			t.Errorf("trial %s: wake-ups %+v", trial.ID, wakes)
		}
	}
}

func TestCtrlCKeepsWhatIsDone(t *testing.T) {
	labtest.Experiment(t)
	for name, test := range map[string]struct {
		network string
		watch   func(cancel func()) silent
		keeps   bool // packets
	}{
		"in a loop": {loopNetwork, func(cancel func()) silent { return silent{received: cancel} }, true},
		"in a pair": {pairNetwork, func(cancel func()) silent { return silent{received: cancel} }, true},
		// The trial has not reached the engines yet.
		"before a loop": {loopNetwork, func(cancel func()) silent { return silent{began: cancel} }, false},
		"before a pair": {pairNetwork, func(cancel func()) silent { return silent{began: cancel} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			experiment, writer := prepare(t, "stopped", test.network, "repeat=3", "traffic.duration=20s")
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			// The baseline, which comes first, must not get the Ctrl-C.
			watch := test.watch(cancel)
			inTrial := false
			err := measureAll(ctx, experiment, writer, silent{
				began: func() {
					inTrial = true
					if watch.began != nil {
						watch.began()
					}
				},
				received: func() {
					if inTrial && watch.received != nil {
						watch.received()
					}
				},
			})
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("Measure = %v, want context.Canceled", err)
			}
			noLabLeft(t)
			trials := writer.Summary().Trials
			if len(trials) != 1 || trials[0].Verdict != result.Invalid || !strings.Contains(strings.Join(trials[0].Reasons, "\n"), "interrupted") {
				t.Fatalf("kept %+v, want one interrupted trial", trials)
			}
			if test.keeps && trials[0].RxPackets == 0 {
				t.Error("the interrupted trial lost the packets it had received")
			}
		})
	}
}

// TestDeathsInATrialAreNamed kills what a trial depends on while it runs: the other trial gets an
// undamaged network, and the run continues to its end, which is an error.
func TestDeathsInATrialAreNamed(t *testing.T) {
	labtest.Experiment(t)
	pid := func(of func(*lab.Lab) int) func(*testing.T) int {
		return func(t *testing.T) int {
			l, err := lab.Open("deaths")
			if err != nil {
				t.Fatal(err)
			}
			return of(l)
		}
	}
	tests := map[string]struct {
		victim func(t *testing.T) int
		says   string
		// kept is true if the generator, which has the measured figures, survives.
		kept bool
	}{
		"the generator's engine":            {func(t *testing.T) int { return engineOf(t, "deaths") }, "the engine is gone", false},
		"the node of the device under test": {pid(func(l *lab.Lab) int { return l.PID("dut") }), "node dut is dead", true},
		"the fabric":                        {pid((*lab.Lab).FabricPID), "the fabric is dead", true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			experiment, writer := prepare(t, "deaths", loopNetwork, "traffic.duration=2s", "repeat=2")
			trials, killed := 0, false
			err := measureAll(context.Background(), experiment, writer, silent{
				began: func() { trials++ },
				received: func() {
					if trials == 1 && !killed {
						killed = true
						if pid := test.victim(t); pid > 0 { // 0 would be this test itself
							_ = syscall.Kill(pid, syscall.SIGKILL)
						}
					}
				},
			})
			fate := Lost
			if test.kept {
				fate = Kept
			}
			died := (*DeathsError)(nil)
			if !errors.As(err, &died) || len(died.Deaths) != 1 || !strings.Contains(err.Error(), test.says) ||
				died.Deaths[0].Repeat != 1 || died.Deaths[0].Fate != fate || died.Whole() != test.kept {
				t.Errorf("Measure = %v (%+v), want one death and %q", err, died, test.says)
			}
			if strings.Count(fmt.Sprint(err), test.says) != 1 {
				t.Errorf("it is said more than once: %v", err)
			}
			var repeats []int
			for _, trial := range writer.Summary().Trials {
				repeats = append(repeats, trial.Repeat)
				if said := strings.Contains(strings.Join(trial.Reasons, "\n"), test.says); said != (trial.Repeat == 1) {
					t.Errorf("repeat %d is %s: %q", trial.Repeat, trial.Verdict, trial.Reasons)
				}
			}
			want := []int{2}
			if test.kept {
				want = []int{1, 2}
			}
			if !slices.Equal(repeats, want) {
				t.Errorf("repeats %v were kept, want %v", repeats, want)
			}
			if left := experiment.Left(writer); left != 2-len(want) {
				t.Errorf("%d trials are left to be run", left)
			}
			noLabLeft(t)
		})
	}
}

// engineOf finds the engine that this test started in a lab's generator node.
func engineOf(t *testing.T, name string) int {
	t.Helper()
	l, err := lab.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", l.PID("gen")))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		t.Fatal(err)
	}
	for _, comm := range entries {
		name, _ := os.ReadFile(comm)
		ns, _ := os.Readlink(filepath.Join(filepath.Dir(comm), "ns/net"))
		if ns == want && strings.HasPrefix(string(name), "nines-engine") {
			var pid int
			if _, err := fmt.Sscanf(comm, "/proc/%d/comm", &pid); err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatal("no engine runs in gen")
	return 0
}

func TestTwoRunsOfOneLabAtOnce(t *testing.T) {
	labtest.Experiment(t)
	first, firstWriter := prepare(t, "twice", pairNetwork)
	second, secondWriter := prepare(t, "twice", pairNetwork)
	var err error
	firstErr := measureAll(context.Background(), first, firstWriter, silent{began: func() {
		err = measureAll(context.Background(), second, secondWriter, silent{})
	}})
	if firstErr != nil {
		t.Errorf("the first run was disturbed: %v", firstErr)
	}
	if err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("the second run = %v, want a message that names the lab", err)
	}
	noLabLeft(t)
}

func TestAFileWithoutTraffic(t *testing.T) {
	file, err := spec.Load("lab.yaml", []byte("name: lab\ntopology: {nodes: {a: {}}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	inventory, err := host.Read()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Prepare(file, inventory); exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), "no traffic") {
		t.Errorf("Prepare = %v, want a wrong file", err)
	}
}
