package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

// TestRoutersSpeakOSPF: three routers with FRR, of an image that is built here, as examples/ospf.yaml
// has them.
//
//	a ── r1 ─────core───── r2 ── b
//	      └─left── r3 ──right─┘
func TestRoutersSpeakOSPF(t *testing.T) {
	labtest.LongForm(t)
	s := newShell(t)
	for _, program := range []string{"mmdebstrap", "runc"} {
		_, err := exec.LookPath(program)
		labtest.Require(t, program, err == nil)
	}
	if os.Getenv("NINES_CACHE_DIR") == "" { // else of a cache that someone has filled
		t.Setenv("NINES_CACHE_DIR", t.TempDir()) // one build for all
	}
	file := filepath.Join(labtest.Repository(), "examples", "ospf.yaml")
	t.Run("up", func(t *testing.T) { routersFindEachOther(t, s, file) })
	t.Run("way round", func(t *testing.T) { packetsTakeTheLongWay(t, s, file) })
	t.Run("gap", func(t *testing.T) { theGapIsTheFailure(t, s, file) })
}

// routersFindEachOther: OSPF comes up, and again after the restart of a router.
func routersFindEachOther(t *testing.T, s *shell, file string) {
	s.t = t
	defer s.call("down", "ospf")
	if code, said := s.call("up", file, "--wait", "--wait-limit", "5m"); code != 0 {
		t.Fatalf("up = %d: %s", code, said)
	}
	in := func(node string, argv ...string) string {
		code, said := s.call(append([]string{"exec", node, "--"}, argv...)...)
		if code != 0 {
			return fmt.Sprintf("exit code %d: %s", code, said)
		}
		return said
	}
	// OSPF's own view: what an earlier one has put in the kernel stays there after its end.
	whole := func() bool {
		return strings.Count(in("r1", "vtysh", "-c", "show ip ospf neighbor"), "Full/") == 2 &&
			strings.Contains(in("r1", "vtysh", "-c", "show ip ospf route"), "10.2.0.0/24") &&
			strings.Contains(in("r1", "ip", "route", "get", "10.2.0.10"), "dev core") &&
			strings.Contains(in("r2", "ip", "route", "get", "10.1.0.10"), "dev core")
	}
	await := func(what string) {
		t.Helper()
		for end := time.Now().Add(5 * time.Minute); !whole(); time.Sleep(time.Second) {
			if time.Now().After(end) {
				t.Fatalf("%s: it does not come up: %s%s", what, in("r1", "vtysh", "-c", "show ip ospf neighbor"), in("r1", "ip", "route"))
			}
		}
	}
	await("at first")
	if said := in("a", "ping", "-c1", "-W20", "10.2.0.10"); !strings.Contains(said, " 0% packet loss") {
		t.Errorf("before the restart: %s", said)
	}
	// When its first process was started, in ticks since the host booted (proc_pid_stat(5)).
	process := func() string { return in("r1", "cut", "-d ", "-f22", "/proc/1/stat") }
	first := process()
	if code, said := s.call("restart", "r1"); code != 0 {
		t.Fatalf("restart = %d: %s", code, said)
	}
	await("after the restart")
	if now := process(); now == first {
		t.Errorf("ospfd of r1 was not started again: %s", now)
	}
	if said := in("a", "ping", "-c1", "-W20", "10.2.0.10"); !strings.Contains(said, " 0% packet loss") {
		t.Errorf("after the restart: %s", said)
	}
	if code, said := s.call("check", "ospf"); code != 0 {
		t.Errorf("check = %d: %s", code, said)
	}
}

// measured runs the example, with each packet recorded, and returns its trials.
func (s *shell) measured(file string, set ...string) (*result.Result, []result.Trial) {
	s.t.Helper()
	arguments := []string{"run", file, "--set", "traffic.packets=record"}
	for _, one := range set {
		arguments = append(arguments, "--set", one)
	}
	code, said := s.call(arguments...)
	if code != 0 && !labtest.NoneValid(said) {
		s.t.Fatalf("run = %d: %s", code, said)
	}
	r, err := result.Open(filepath.Join(s.dir, "results", "latest"))
	if err != nil {
		s.t.Fatal(err)
	}
	return r, r.Summary.Trials
}

// failure is what a trial's packets tell of a link that failed. Times are since the traffic began.
type failure struct {
	result.Occurrence
	warmupNs int64
	packets  []result.Packet
}

func (s *shell) failure(r *result.Result, trial result.Trial, warmup time.Duration) failure {
	s.t.Helper()
	folder := r.TrialFolder(trial.ID)
	details, err := folder.Details()
	if err != nil {
		s.t.Fatal(err)
	}
	if len(details.Events) != 1 || details.Events[0].Problem != "" {
		s.t.Fatalf("the events are %+v; the trial is %s: %q", details.Events, trial.Verdict, trial.Reasons)
	}
	f := failure{Occurrence: details.Events[0], warmupNs: int64(warmup)}
	if _, err := folder.Packets(func(rows []result.Packet) error {
		f.packets = append(f.packets, rows...)
		return nil
	}); err != nil {
		s.t.Fatal(err)
	}
	return f
}

// sent is when a packet left.
func (f failure) sent(p result.Packet) int64 { return p.TxNs + f.warmupNs }

// packetsTakeTheLongWay: packets pass while the short way is down.
func packetsTakeTheLongWay(t *testing.T, s *shell, file string) {
	s.t = t
	r, trials := s.measured(file)
	f := s.failure(r, trials[0], 500*time.Millisecond)
	passed, lost := 0, 0
	for _, p := range f.packets {
		switch during := f.sent(p) > f.BeganNs && f.sent(p) < f.AtNs+f.LengthNs; {
		case during && p.RxNs == nil:
			lost++
		case during && *p.RxNs+f.warmupNs < f.AtNs+f.LengthNs:
			passed++
		}
	}
	if passed == 0 {
		t.Errorf("none of %d packets passed while the short way was down (%+v)", lost, f.Occurrence)
	}
	t.Logf("while the short way was down, %d packets were lost and %d took the long way", lost, passed)
}

// theGapIsTheFailure: a link that fails for less than OSPF's dead interval, and whose ends keep their carriers,
// is a gap in the packets of the same length, by the times at which nines took it down and up.
func theGapIsTheFailure(t *testing.T, s *shell, file string) {
	s.t = t
	const bound = 10 * time.Millisecond
	r, trials := s.measured(file, "links.core.kind=switch", "events=[{at: 2s, link: core, down: 1s}]", "traffic.duration=4s", "repeat=3")
	near := 0
	for _, trial := range trials {
		f := s.failure(r, trial, 500*time.Millisecond)
		first, last := int64(0), int64(0)
		for _, p := range f.packets {
			switch sent := f.sent(p); {
			case p.RxNs == nil && first == 0:
				first, last = sent, sent
			case p.RxNs == nil:
				last = sent
			// One that a busy host holds up on its way may pass once the link is up.
			case sent > f.BeganNs && *p.RxNs+f.warmupNs < f.AtNs+f.LengthNs:
				t.Errorf("trial %s: packet %d was sent and arrived while the link was down", trial.ID, p.ID)
			}
		}
		// The link went down after it was due and before the time in the record, and came up so, too.
		shortest, longest := f.AtNs+f.LengthNs-f.BeganNs, f.EndedNs-f.AtNs
		gap := last - first
		t.Logf("trial %s: the gap is %v, the link was down for %v to %v", trial.ID, time.Duration(gap), time.Duration(shortest), time.Duration(longest))
		if gap >= shortest-int64(bound) && gap <= longest+int64(bound) {
			near++
		}
	}
	// A busy host may keep the sender, or a packet on its way, from its CPU just then: one has to fit.
	if near == 0 {
		t.Errorf("in none of %d trials the gap is the link's, to %v", len(trials), bound)
	}
}
