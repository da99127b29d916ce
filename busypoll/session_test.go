package busypoll

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/spec"
)

// newSession is a session in a temporary state folder, for the fixture's server.
func (f *fixture) newSession(name string) Session {
	s := Session{Root: filepath.Join(f.TempDir(), "state"), Name: name}
	f.Cleanup(func() {
		if err := s.Stop(context.Background(), nil); err != nil && !errors.Is(err, ErrNoSession) {
			f.Error(err)
		}
	})
	return s
}

func (f *fixture) begin(s Session, r Request) (*Record, error) {
	return s.Start(context.Background(), f.far, Begin{Target: "the server", User: "me", Program: f.site.Program, Request: r})
}

func (f *fixture) sameAs(before map[string]string) {
	f.Helper()
	if after := f.settings(); fmt.Sprint(after) != fmt.Sprint(before) {
		f.Errorf("settings before %v\nafter %v", before, after)
	}
}

// polled asks for a thread that gets the CPU even on a busy machine.
var polled = Request{
	Receive: spec.ReceiveBusyPoll, CPUs: []int{0}, Mechanism: spec.PollIOUring,
	Scheduling: &spec.Scheduling{Policy: spec.SchedulingOther, Nice: -20},
}

func TestASessionIsShownAndStopped(t *testing.T) {
	f := newFixture(t)
	f.requireIOUring()
	before, s := f.settings(), f.newSession("web")
	record, err := f.begin(s, polled)
	if err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); ; {
		done := make(chan int)
		go func() { done <- f.exchange(300) }()
		status, err := s.Status(context.Background(), 200*time.Millisecond)
		if n := <-done; n != 300 {
			t.Errorf("%d of 300 answered", n)
		}
		if err != nil || status.State != StateRunning || len(status.Threads) != 1 || status.Target != "the server" || status.User != "me" {
			t.Fatalf("%+v, %v", status, err)
		}
		thread := status.Threads[0]
		counted := status.Uncounted != "" || *status.PollsPerSecond > 0 && *thread.PollsPerSecond > 0
		if counted && thread.Placement == "other:-20@0" && thread.CPUUse > 0 && thread.CPUTime > 0 {
			break
		}
		// It may back off while others have the CPU.
		if time.Since(begun) > patience {
			t.Fatalf("%+v, counted %v", thread, counted)
		}
	}
	if _, err := f.begin(s, polled); err == nil {
		t.Error("a second of that name started")
	}
	other := f.newSession("other")
	other.Root = s.Root
	if _, err := f.begin(other, polled); err == nil {
		t.Error("a second for that interface started")
	}
	if err := s.Stop(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	f.sameAs(before)
	if record.Running.Poller.Alive() {
		t.Error("the poller is still there")
	}
	if err := s.Stop(context.Background(), nil); !errors.Is(err, ErrNoSession) {
		t.Errorf("stopped twice: %v", err)
	}
	if left, err := Sessions(s.Root); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

func TestADeadPollerIsSeenAndUndone(t *testing.T) {
	f := newFixture(t)
	f.requireIOUring()
	before, s := f.settings(), f.newSession("web")
	record, err := f.begin(s, polled)
	if err != nil {
		t.Fatal(err)
	}
	poller := record.Running.Poller.Identity
	if err := poller.Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	for poller.Alive() {
		time.Sleep(time.Millisecond)
	}
	if status, err := s.Status(context.Background(), time.Millisecond); err != nil || status.State != StateDead {
		t.Errorf("%+v, %v", status, err)
	}
	if err := s.Stop(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	f.sameAs(before)
}

// TestADeviceThatWasSetDownAndUpIsStale: its new instance is received by interrupts that
// are no longer deferred, and is polled after a new start.
func TestADeviceThatWasSetDownAndUpIsStale(t *testing.T) {
	f := newFixture(t)
	f.requireIOUring()
	adaptive := polled
	adaptive.Adaptive = true
	byEpoll := polled
	byEpoll.Mechanism = spec.PollEpoll
	for name, request := range map[string]Request{"io_uring": polled, "adaptive": adaptive, "epoll": byEpoll} {
		t.Run(name, func(t *testing.T) {
			before, s := f.settings(), f.newSession("web")
			record, err := f.begin(s, request)
			if err != nil {
				t.Fatal(err)
			}
			if err := f.far.Do(func() error {
				link, err := netlink.LinkByName("b")
				if err != nil {
					return err
				}
				return errors.Join(netlink.LinkSetDown(link), netlink.LinkSetUp(link))
			}); err != nil {
				t.Fatal(err)
			}
			status, err := s.Status(context.Background(), time.Millisecond)
			if err != nil || status.State != StateStale || !strings.Contains(status.Stale, "of b is gone") {
				t.Errorf("%+v, %v", status, err)
			}
			for begun := time.Now(); ; time.Sleep(10 * time.Millisecond) {
				statistics, err := ReadStatistics(record.Running.Poller.Statistics)
				if err == nil && statistics.Threads[0].State == StaleThread && f.settings()["b attribute/gro_flush_timeout"] == "0" {
					break
				}
				if time.Since(begun) > patience {
					t.Fatalf("the poller never noticed: %+v, %v", statistics, err)
				}
			}
			if n := f.exchange(50); n != 50 {
				t.Errorf("%d of 50 answered by interrupts", n)
			}
			if err := s.Stop(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
			f.sameAs(before)
			if _, err := f.begin(s, request); err != nil {
				t.Fatal(err)
			}
			if status, err := s.Status(context.Background(), time.Millisecond); err != nil || status.State != StateRunning {
				t.Errorf("started again: %+v, %v", status, err)
			}
			if err := s.Stop(context.Background(), nil); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestASessionWhoseContainerIsGoneIsCleaned: by a stop, or by the next start of that name.
func TestASessionWhoseContainerIsGoneIsCleaned(t *testing.T) {
	f := newFixture(t)
	f.requireIOUring()
	s := f.newSession("web")
	gone := newFixture(t)
	record, err := gone.begin(s, polled)
	if err != nil {
		t.Fatal(err)
	}
	gone.endFar()
	for record.Running.Poller.Alive() {
		time.Sleep(time.Millisecond)
	}
	if status, err := s.Status(context.Background(), time.Millisecond); err != nil || status.State != StateGone {
		t.Errorf("%+v, %v", status, err)
	}
	if _, err := f.begin(s, polled); err != nil {
		t.Errorf("start again: %v", err)
	}
	if status, err := s.Status(context.Background(), time.Millisecond); err != nil || status.State != StateRunning {
		t.Errorf("%+v, %v", status, err)
	}
}

func TestASessionWithoutARecordIsInterrupted(t *testing.T) {
	s := Session{Root: t.TempDir(), Name: "cut"}
	if _, err := s.Status(t.Context(), time.Millisecond); !errors.Is(err, ErrNoSession) {
		t.Errorf("a session that does not exist: %v", err)
	}
	if err := os.MkdirAll(s.dir(), 0o755); err != nil {
		t.Fatal(err)
	}
	status, err := s.Status(t.Context(), time.Millisecond)
	if err != nil || status.State != StateInterrupted || status.Name != "cut" {
		t.Errorf("%+v, %v", status, err)
	}
}
