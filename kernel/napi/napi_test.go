package napi_test

import (
	"errors"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/napi"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/test/labtest"
)

// inPair runs f in a new network namespace with a veth pair, one and two, which are up.
func inPair(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	labtest.Require(t, "root", os.Geteuid() == 0)
	ns, err := netns.New()
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	if err := ns.Do(func() error {
		pair := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "one"}, PeerName: "two"}
		if err := netlink.LinkAdd(pair); err != nil {
			return err
		}
		for _, name := range []string{"one", "two"} {
			link, err := netlink.LinkByName(name)
			if err != nil {
				return err
			}
			if err := netlink.LinkSetUp(link); err != nil {
				return err
			}
		}
		f(t)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, s napi.Setting, value string) {
	t.Helper()
	if err := s.Write("two", value); err != nil {
		t.Fatal(err)
	}
	if now, err := s.Read("two"); err != nil || now != value {
		t.Fatalf("%s: wrote %q, reads %q, %v", s, value, now, err)
	}
}

// TestAVethHasAnInstanceOnlyWithGRO: and a thread for it only then (without GRO veth.c
// enables no NAPI).
func TestAVethHasAnInstanceOnlyWithGRO(t *testing.T) {
	inPair(t, func(t *testing.T) {
		before, err := napi.List()
		if errors.Is(err, napi.ErrNoNAPIGet) || errors.Is(err, napi.ErrNoFamily) {
			labtest.Require(t, "napi-get (Linux 6.8)", false)
		}
		if err != nil || len(before) != 0 {
			t.Fatalf("before: %+v, %v", before, err)
		}
		write(t, napi.Feature("rx-gro"), "1")
		list, err := napi.List()
		if err != nil || len(list) != 1 || list[0].Threaded != napi.Softirq {
			t.Fatalf("with GRO: %+v, %v", list, err)
		}
		write(t, napi.Attribute("napi_defer_hard_irqs"), "3")
		write(t, napi.Attribute("gro_flush_timeout"), "20000")
		write(t, napi.Attribute("threaded"), "1")
		got, err := napi.Get(list[0].ID)
		if err != nil || got.Threaded != napi.Thread || got.PID == 0 || got.DeferHardIRQs != 3 || got.GROFlushTimeout != 20*time.Microsecond {
			t.Fatalf("threaded: %+v, %v", got, err)
		}
		threads, err := napi.Threads("two")
		if err != nil || !strings.HasPrefix(threads[got.PID], "napi/two-") {
			t.Errorf("threads by name: %v, %v", threads, err)
		}
		placement := napi.ThreadPlacement(got.PID)
		old, err := placement.Read("two")
		if err != nil || !strings.HasPrefix(old, "other:0@0") {
			t.Errorf("where it runs: %q, %v", old, err)
		}
		write(t, placement, "idle:0@0")
		if err := placement.Write("two", "other:0@0"); err != nil {
			t.Fatal(err)
		}
		// A thread of another process is not touched.
		if err := napi.ThreadPlacement(1).Write("two", "idle:0"); !napi.IsGone(err) {
			t.Errorf("process 1 as a thread of the device: %v", err)
		}
		if err := napi.ThreadedOf(got.ID).Write("two", "0"); err != nil {
			if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP) {
				labtest.Require(t, "napi-set threaded (Linux 6.17)", false)
			}
			t.Fatal(err)
		}
		write(t, napi.Feature("rx-gro"), "0")
		if list, err = napi.List(); err != nil || len(list) != 0 {
			t.Errorf("without GRO: %+v, %v", list, err)
		}
		if _, err := napi.ThreadedOf(got.ID).Read("two"); !napi.IsGone(err) {
			t.Errorf("an instance that is gone: %v", err)
		}
	})
}

// TestPolicyTellsWhatNAPISetTakes: the kernel accepts exactly what its policy lists.
func TestPolicyTellsWhatNAPISetTakes(t *testing.T) {
	inPair(t, func(t *testing.T) {
		policy, err := napi.SetPolicy()
		if errors.Is(err, napi.ErrNoFamily) {
			labtest.Require(t, "netlink family netdev (Linux 6.3)", false)
		}
		if err != nil {
			t.Fatal(err)
		}
		labtest.Require(t, "napi-set (Linux 6.13)", len(policy) > 0)
		write(t, napi.Feature("rx-gro"), "1")
		list, err := napi.List()
		if err != nil || len(list) != 1 {
			t.Fatalf("%+v, %v", list, err)
		}
		id := list[0].ID
		if policy.Suspends() {
			write(t, napi.IRQSuspendOf(id), "200000")
			write(t, napi.IRQSuspendOf(id), "0")
		}
		err = napi.SetThreaded(id, napi.BusyThread)
		switch {
		case policy.BusyThreads() && err != nil:
			t.Errorf("the kernel says that it takes busy-poll, and refuses it: %v", err)
		case !policy.BusyThreads() && !errors.Is(err, unix.ERANGE) && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.EOPNOTSUPP):
			t.Errorf("the kernel says that it does not take busy-poll: %v", err)
		}
	})
}

func TestTheKernelsRefusalIsTold(t *testing.T) {
	inPair(t, func(t *testing.T) {
		// A veth without GRO has nothing to poll.
		if err := napi.Attribute("threaded").Write("two", "1"); !errors.Is(err, unix.EOPNOTSUPP) {
			t.Errorf("threaded without an instance: %v", err)
		}
		if _, err := napi.Attribute("../../kernel").Read("two"); err == nil {
			t.Error("an attribute outside of the device")
		}
		if _, err := napi.Attribute("threaded").Read("../two"); err == nil {
			t.Error("a device outside of net")
		}
		if _, err := napi.Attribute("threaded").Read("three"); !napi.IsGone(err) {
			t.Errorf("a device that there is not: %v", err)
		}
	})
}

func TestPlacementsAreReadAsWritten(t *testing.T) {
	for _, text := range []string{"other:-5@0,1", "fifo:50@3", "rr:1@0", "batch:19@7", "idle:0@0"} {
		p, err := napi.ParsePlacement(text)
		if err != nil || p.String() != text {
			t.Errorf("%s reads as %s, %v", text, p, err)
		}
	}
	for _, text := range []string{"", "fifo", "fifo:0@1", "fifo:100", "other:20", "deadline:1", "fifo:1@x", "fifo:1@-1"} {
		if p, err := napi.ParsePlacement(text); err == nil {
			t.Errorf("%q reads as %s", text, p)
		}
	}
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	p := napi.Placement{Policy: unix.SCHED_BATCH, Nice: int32(labtest.Nice(t, 3)), CPUs: []int{0}}
	if err := p.Place(cmd.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if now, err := napi.PlacementOf(cmd.Process.Pid); err != nil || now.String() != p.String() {
		t.Errorf("placed as %s, is %s, %v (%s)", p, now, err, strconv.Itoa(cmd.Process.Pid))
	}
}

// Each device's instances are found, whatever their IDs: the device made first has the
// lower IDs in one case and the higher in the other.
func TestInstancesOfSeveralDevices(t *testing.T) {
	for _, order := range [][]string{{"one", "two"}, {"two", "one"}} {
		inPair(t, func(t *testing.T) {
			if _, err := napi.List(); errors.Is(err, napi.ErrNoNAPIGet) || errors.Is(err, napi.ErrNoFamily) {
				labtest.Require(t, "napi-get (Linux 6.8)", false)
			}
			for _, name := range order {
				if err := napi.Feature("rx-gro").Write(name, "1"); err != nil {
					t.Fatal(err)
				}
			}
			list, err := napi.List()
			if err != nil || len(list) != 2 || list[0].Index == list[1].Index {
				t.Errorf("with GRO on %v: %+v, %v", order, list, err)
			}
			for _, i := range list {
				if own, err := napi.List(i.Index); err != nil || len(own) != 1 || own[0].ID != i.ID {
					t.Errorf("of device %d alone: %+v, %v", i.Index, own, err)
				}
			}
		})
	}
}
