package busypoll

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/journal"
	"nines.dev/nines/kernel/napi"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// fixture is two network namespaces, each with an end of a veth pair:
//
//	near ── a 198.18.7.1 ═══════ b 198.18.7.2 ── far: an unmodified UDP server
type fixture struct {
	*testing.T
	near, far *netns.Namespace
	// endFar ends the process that far's path refers to, and far with it.
	endFar func()
	site   Site
	notes  []string
}

func newFixture(t *testing.T) *fixture {
	labtest.Require(t, "root", os.Geteuid() == 0)
	labtest.WholeHost(t) // it checks that the host's settings are unchanged
	f := &fixture{T: t}
	f.near = newNamespace(t)
	f.far, f.endFar = newEndingNamespace(t)
	if err := f.near.Do(func() error {
		return netlink.LinkAdd(&netlink.Veth{
			LinkAttrs: netlink.LinkAttrs{Name: "a"}, PeerName: "b", PeerNamespace: netlink.NsFd(f.far.FD()),
		})
	}); err != nil {
		t.Fatal(err)
	}
	for _, end := range []struct {
		ns            *netns.Namespace
		name, address string
	}{{f.near, "a", "198.18.7.1/24"}, {f.far, "b", "198.18.7.2/24"}} {
		if err := end.ns.Do(func() error {
			link, err := netlink.LinkByName(end.name)
			if err != nil {
				return err
			}
			address, err := netlink.ParseAddr(end.address)
			if err != nil {
				return err
			}
			if err := netlink.AddrAdd(link, address); err != nil {
				return err
			}
			return netlink.LinkSetUp(link)
		}); err != nil {
			t.Fatal(err)
		}
	}
	f.openSite()
	return f
}

// openSite gives the fixture a site at its far end, whose journal is undone in the end.
func (f *fixture) openSite() {
	j, err := journal.Create(filepath.Join(f.TempDir(), "journal"), journal.Header{
		Lab: "test", Token: fmt.Sprintf("nines-test-%d-%s", os.Getpid(), f.Name()),
	})
	if err != nil {
		f.Fatal(err)
	}
	f.site = Site{
		Journal: j, Namespace: f.far, Program: libexec("nines-poller"), Dir: f.TempDir(), Name: "test", Watch: true,
		Features: Probe(),
	}
	f.Cleanup(func() {
		f.stop()
		_ = j.Close()
	})
}

// newNamespace makes a namespace with a process in it, as a container has.
func newNamespace(t *testing.T) *netns.Namespace {
	ns, _ := newEndingNamespace(t)
	return ns
}

// newEndingNamespace also returns a function that ends the process, and the namespace with
// it.
func newEndingNamespace(t *testing.T) (ns *netns.Namespace, end func()) {
	made, err := netns.New()
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()
	lives := exec.Command("sleep", "600")
	if err := made.Do(lives.Start); err != nil {
		t.Fatal(err)
	}
	kill := func() { _ = lives.Process.Kill(); _ = lives.Wait() }
	t.Cleanup(kill)
	ns, err = netns.OfProcess(lives.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ns.Close() })
	return ns, func() { kill(); _ = ns.Close() }
}

func libexec(name string) string {
	if dir := os.Getenv("NINES_LIBEXEC"); dir != "" {
		return filepath.Join(dir, name)
	}
	path, _ := filepath.Abs(filepath.Join("..", "bin", name))
	return path
}

func (f *fixture) start(r Request) *Running {
	f.Helper()
	run, err := f.site.Start(context.Background(), r)
	if err != nil {
		f.Fatal(err)
	}
	return run
}

func (f *fixture) stop() {
	f.Helper()
	note := func(text string) { f.notes = append(f.notes, text) }
	if err := f.site.Journal.Undo(context.Background(), note, nil); err != nil {
		f.Error(err)
	}
}

// settings are all settings that any receive mode changes.
func (f *fixture) settings() map[string]string {
	f.Helper()
	all := map[string]string{}
	for _, end := range []struct {
		ns     *netns.Namespace
		device string
	}{{f.near, "a"}, {f.far, "b"}} {
		list := []napi.Setting{napi.Feature("rx-gro"), napi.Attribute("threaded"), napi.Attribute("napi_defer_hard_irqs"), napi.Attribute("gro_flush_timeout")}
		for _, name := range tsoFeatures {
			list = append(list, napi.Feature(name))
		}
		if err := end.ns.Do(func() error {
			for _, s := range list {
				if value, err := s.Read(end.device); err == nil {
					all[end.device+" "+string(s)] = value
				}
			}
			return nil
		}); err != nil {
			f.Fatal(err)
		}
	}
	return all
}

// exchange sends packets from a client to a server and back, one at a time, and returns how
// many came back.
func (f *fixture) exchange(packets int) (answered int) {
	f.Helper()
	var server, client *net.UDPConn
	if err := f.far.Do(func() (err error) {
		server, err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(198, 18, 7, 2), Port: 7777})
		return err
	}); err != nil {
		f.Fatal(err)
	}
	defer server.Close()
	go func() {
		data := make([]byte, 100)
		for {
			n, from, err := server.ReadFromUDP(data)
			if err != nil {
				return // closed
			}
			_, _ = server.WriteToUDP(data[:n], from) // the client notices a lost answer
		}
	}()
	if err := f.near.Do(func() (err error) {
		client, err = net.DialUDP("udp4", nil, &net.UDPAddr{IP: net.IPv4(198, 18, 7, 2), Port: 7777})
		return err
	}); err != nil {
		f.Fatal(err)
	}
	defer client.Close()
	data := make([]byte, 100)
	for range packets {
		if _, err := client.Write([]byte("ping")); err != nil {
			f.Fatal(err)
		}
		// A busy host stops an emulated machine for seconds.
		_ = client.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := client.Read(data); err == nil {
			answered++
		}
	}
	return answered
}

// awaitAnswer waits until a packet comes back. On a busy host the ends may not find each other's MAC address in the 3 s
// after which Linux gives up, and drops the packets that wait for it (net/core/neighbour.c).
func (f *fixture) awaitAnswer() {
	f.Helper()
	for deadline := time.Now().Add(patience); f.exchange(1) == 0; {
		if time.Now().After(deadline) {
			f.Fatal("no packet comes back")
		}
	}
}

// patience is how long to wait for a moment in which a busy machine gives a poller its CPU.
const patience = 60 * time.Second

func (f *fixture) requireIOUring() {
	f.Helper()
	lack := first(f.site.Features.NAPIGet, f.site.Features.IOUring)
	labtest.Require(f.T, "io_uring with static NAPI ids: "+string(lack), lack.None())
}

// counted returns an instance's polls and packets, by one thread and by all others.
func (f *fixture) counted(id uint32, tid int, during func()) (own, others PollCount) {
	f.Helper()
	polls, err := CountPolls()
	labtest.Require(f.T, fmt.Sprintf("BPF programs at tracepoints (%v)", err), err == nil)
	defer polls.Close()
	during()
	counts, err := polls.Counts()
	if err != nil {
		f.Fatal(err)
	}
	for poll, count := range counts {
		switch {
		case poll.NAPI != id:
		case poll.TID == tid:
			own = own.plus(count)
		default:
			others = others.plus(count)
		}
	}
	return own, others
}

// TestAnUnmodifiedServersPacketsComeByThePoller: the poller's thread polls each packet, and
// softirqs next to none.
func TestAnUnmodifiedServersPacketsComeByThePoller(t *testing.T) {
	f := newFixture(t)
	f.requireIOUring()
	before := f.settings()
	request := Request{
		Receive: spec.ReceiveBusyPoll, Interfaces: []string{"b"}, CPUs: []int{runtime.NumCPU() - 1}, Mechanism: spec.PollIOUring,
		Scheduling: &spec.Scheduling{Policy: spec.SchedulingOther, Nice: -20},
	}
	var run *Running
	var id uint32
	var tid int
	// If other threads have the CPU, a softirq polls after the timer's 10 ms and the
	// watchdog stops polling. So on a busy machine the test waits for a better moment.
	const packets = 200
	for begun := time.Now(); ; f.stop() {
		run = f.start(request)
		if run.Mechanism != "io_uring" || run.Poller == nil || len(run.Interfaces) != 1 || len(run.Interfaces[0].NAPIs) != 1 {
			t.Fatalf("started as %+v", run)
		}
		statistics, err := ReadStatistics(run.Poller.Statistics)
		if err != nil || len(statistics.Threads) != 1 {
			t.Fatalf("statistics %+v, %v", statistics, err)
		}
		id, tid = run.Interfaces[0].NAPIs[0].ID, statistics.Threads[0].TID
		own, others := f.counted(id, tid, func() {
			if n := f.exchange(packets); n != packets {
				t.Errorf("%d of %d answered", n, packets)
			}
		})
		if own.Packets >= packets*9/10 && others.Packets <= packets/10 {
			t.Logf("the poller %+v, others %+v, settings %v", own, others, run.Interfaces[0].Changed)
			break
		}
		if time.Since(begun) > patience {
			t.Fatalf("the poller %+v, others %+v", own, others)
		}
	}
	f.stop()
	if after := f.settings(); fmt.Sprint(after) != fmt.Sprint(before) || len(f.notes) > 0 {
		t.Errorf("settings before %v\nafter %v\nnotes %q", before, after, f.notes)
	}
	if run.Poller.Alive() {
		t.Error("the poller is still there")
	}
	// After the poller has stopped, all is as before.
	_, others := f.counted(id, tid, func() { f.exchange(100) })
	if others.Packets != 0 {
		t.Errorf("an instance that is gone was polled: %+v", others)
	}
}

// TestThreadedPacketsComeByTheKernelsThread.
func TestThreadedPacketsComeByTheKernelsThread(t *testing.T) {
	f := newFixture(t)
	labtest.Require(t, "threaded NAPI: "+string(f.site.Features.Threaded), f.site.Features.Threaded.None())
	before := f.settings()
	run := f.start(Request{
		Receive: spec.ReceiveThreaded, CPUs: []int{0}, // all interfaces: b is the one
		Scheduling: &spec.Scheduling{Policy: spec.SchedulingOther, Nice: -5},
	})
	if len(run.Interfaces) != 1 || len(run.Interfaces[0].NAPIs) != 1 {
		t.Fatalf("started as %+v", run)
	}
	instance := run.Interfaces[0].NAPIs[0]
	placed, err := napi.PlacementOf(instance.PID)
	if err != nil || placed.String() != "other:-5@0" {
		t.Errorf("the thread is %s, %v", placed, err)
	}
	const packets = 500
	own, others := f.counted(instance.ID, instance.PID, func() {
		if n := f.exchange(packets); n != packets {
			t.Errorf("%d of %d answered", n, packets)
		}
	})
	if own.Packets < packets || others.Packets > 0 {
		t.Errorf("the thread %+v, others %+v", own, others)
	}
	f.stop()
	if after := f.settings(); fmt.Sprint(after) != fmt.Sprint(before) || len(f.notes) > 0 {
		t.Errorf("settings before %v\nafter %v\nnotes %q", before, after, f.notes)
	}
}

// TestAPollerEndsWithItsNamespace: it must not keep a container's devices alive.
func TestAPollerEndsWithItsNamespace(t *testing.T) {
	f := newFixture(t)
	f.requireIOUring()
	dir := t.TempDir()
	path := filepath.Join(dir, "gone")
	if err := os.Symlink(f.far.Path(), path); err != nil {
		t.Fatal(err)
	}
	ns, err := netns.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	f.site.Namespace = ns
	run := f.start(Request{Receive: spec.ReceiveBusyPoll, CPUs: []int{0}, Mechanism: spec.PollIOUring})
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for begun := time.Now(); run.Poller.Alive(); time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > 20*time.Second {
			t.Fatal("it polls on")
		}
	}
}

// TestNothingIsLeftOfAStartThatFails checks that a failed start restores everything.
func TestNothingIsLeftOfAStartThatFails(t *testing.T) {
	labtest.Guarantee(t)
	f := newFixture(t)
	f.requireIOUring()
	before := f.settings()
	_, err := f.site.Start(context.Background(), Request{Receive: spec.ReceiveBusyPoll, CPUs: []int{4095}, Mechanism: spec.PollIOUring})
	if err == nil {
		t.Fatal("it polls on a CPU that does not exist")
	}
	t.Log(err)
	f.stop()
	if after := f.settings(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("settings before %v\nafter %v", before, after)
	}
	if _, err := f.site.Start(context.Background(), Request{Receive: spec.ReceiveBusyPoll, CPUs: []int{0}, Interfaces: []string{"c"}}); err == nil {
		t.Error("an interface that does not exist was polled")
	}
}

// TestAwakeSpinsAtIdlePriority checks that a thread at SCHED_IDLE keeps a CPU from idling.
func TestAwakeSpinsAtIdlePriority(t *testing.T) {
	f := newFixture(t)
	run := f.start(Request{Receive: spec.ReceiveAwake, CPUs: []int{0}})
	if run.Mechanism == "pm_qos" {
		return // PM QoS is a setting, whose test is the journal's
	}
	statistics, err := ReadStatistics(run.Poller.Statistics)
	if err != nil || len(statistics.Threads) != 1 {
		t.Fatalf("%+v, %v", statistics, err)
	}
	placed, err := napi.PlacementOf(statistics.Threads[0].TID)
	if err != nil || placed.String() != "idle:0@0" {
		t.Errorf("it is %s, %v", placed, err)
	}
	begun := statistics
	for statistics.Threads[0].CPUTime <= begun.Threads[0].CPUTime || statistics.Updated == begun.Updated {
		if statistics, err = ReadStatistics(run.Poller.Statistics); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAnAdaptivePollerNapsAndWakes: without packets the kernel's thread uses next to no CPU
// time, and packets are still received by polling, not by softirqs. It is so on CPUs of its
// own, and on those that it shares, where interrupts stay as they are.
func TestAnAdaptivePollerNapsAndWakes(t *testing.T) {
	for name, request := range map[string]Request{
		"CPUs of its own": {Scheduling: &spec.Scheduling{Policy: spec.SchedulingOther, Nice: -20}},
		"shared CPUs":     {Scheduling: &spec.Scheduling{Policy: spec.SchedulingIdle}, Shared: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.requireIOUring()
			request.Receive, request.CPUs, request.Mechanism = spec.ReceiveBusyPoll, []int{0}, spec.PollIOUring
			request.Adaptive, request.Longest = true, time.Millisecond
			timeout := "b " + string(napi.Attribute("gro_flush_timeout"))
			old := f.settings()[timeout]
			run := f.start(request)
			if now := f.settings()[timeout]; (now == old) != request.Shared {
				t.Errorf("%s was %s and is %s", timeout, old, now)
			}
			f.napsAndWakes(run)
		})
	}
}

func (f *fixture) napsAndWakes(run *Running) {
	f.Helper()
	read := func() (kernels, napper Thread) {
		threads, err := run.Threads()
		if err != nil || len(threads) != 2 {
			f.Fatalf("%+v, %v", threads, err)
		}
		return threads[0], threads[1]
	}
	await := func(what string, is func(kernels, napper Thread) bool) {
		for begun := time.Now(); !is(read()); time.Sleep(time.Millisecond) {
			if time.Since(begun) > patience {
				kernels, napper := read()
				f.Fatalf("%s never came: %+v, %+v", what, kernels, napper)
			}
		}
	}
	await("sleep", func(_, napper Thread) bool { return napper.State == "sleeping" && napper.Naps > 10 && napper.Slept > 0 })
	before, _ := read()
	if n := f.exchange(300); n != 300 {
		f.Errorf("%d of 300 answered", n)
	}
	await("the kernel's thread", func(kernels, _ Thread) bool { return kernels.CPUTime > before.CPUTime })
	await("sleep again", func(_, napper Thread) bool { return napper.State == "sleeping" })
}

// backOffs is how often the watchdog stopped a poller's first thread.
func (f *fixture) backOffs(run *Running) uint64 {
	f.Helper()
	threads, err := run.Threads()
	if err != nil || len(threads) == 0 {
		f.Fatalf("%+v, %v", threads, err)
	}
	return threads[0].BackOffs
}

// TestAStarvedPollerBacksOff: while other threads take all of its CPU, interrupts are
// better.
func TestAStarvedPollerBacksOff(t *testing.T) {
	f := newFixture(t)
	f.requireIOUring()
	run := f.start(Request{Receive: spec.ReceiveBusyPoll, CPUs: []int{0}, Mechanism: spec.PollIOUring}) // SCHED_IDLE
	flush := func() string { return f.settings()["b attribute/gro_flush_timeout"] }
	if flush() != "10000000" {
		t.Fatalf("interrupts are deferred for %s ns", flush())
	}
	for range 4 {
		hog := exec.Command("taskset", "-c", "0", "sh", "-c", "while :; do :; done")
		if err := hog.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = hog.Process.Kill(); _ = hog.Wait() }()
	}
	for begun := time.Now(); f.backOffs(run) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > patience {
			t.Fatal("it never backs off")
		}
	}
	for begun := time.Now(); flush() != "0"; time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > patience {
			t.Fatalf("interrupts are deferred for %s ns while it backs off", flush())
		}
	}
	if n := f.exchange(50); n != 50 {
		t.Errorf("%d of 50 answered by interrupts", n)
	}
}

// TestPacketsComeByEpoll: packets are received by the poller's thread, or by the kernel's
// while the poller does not get the CPU, and none by a softirq.
func TestPacketsComeByEpoll(t *testing.T) {
	f := newFixture(t)
	lack := first(f.site.Features.NAPIGet, f.site.Features.Epoll, f.site.Features.Threaded)
	labtest.Require(t, "epoll with busy poll parameters: "+string(lack), lack.None())
	before := f.settings()
	request := Request{
		Receive: spec.ReceiveBusyPoll, Interfaces: []string{"b"}, CPUs: []int{0}, Mechanism: spec.PollEpoll,
		Scheduling: &spec.Scheduling{Policy: spec.SchedulingOther, Nice: -20},
	}
	const packets = 200
	for begun := time.Now(); ; f.stop() {
		run := f.start(request)
		threads, err := run.Threads()
		if err != nil || len(threads) != 1 {
			t.Fatalf("%+v, %v", threads, err)
		}
		instance := run.Interfaces[0].NAPIs[0]
		var kernels PollCount
		own, others := f.counted(instance.ID, threads[0].TID, func() {
			kernels, _ = f.counted(instance.ID, instance.PID, func() {
				if n := f.exchange(packets); n != packets {
					t.Errorf("%d of %d answered", n, packets)
				}
			})
		})
		if others.Packets-kernels.Packets > packets/20 {
			t.Fatalf("the poller %+v, the kernel's thread %+v, with softirqs %+v", own, kernels, others)
		}
		if own.Packets > packets/10 {
			t.Logf("the poller %+v, the kernel's thread %+v, with softirqs %+v", own, kernels, others)
			break
		}
		if time.Since(begun) > patience {
			t.Fatalf("the poller %+v, the kernel's thread %+v", own, kernels)
		}
	}
	f.stop()
	f.sameAs(before)
}

// TestTheKernelsThreadComesBeforeARealTimeEpollPoller: the kernel's thread gets the CPU; if
// it were woken and did not run it would keep the instance from the poller. If its priority
// is taken away, the watchdog lets it run.
func TestTheKernelsThreadComesBeforeARealTimeEpollPoller(t *testing.T) {
	f := newFixture(t)
	lack := first(f.site.Features.NAPIGet, f.site.Features.Epoll, f.site.Features.Threaded)
	labtest.Require(t, "epoll with busy poll parameters: "+string(lack), lack.None())
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Fatal(err)
	}
	labtest.Require(t, "CPUs 0 and 1", set.IsSet(0) && set.IsSet(1))
	_, err := exec.LookPath("ping")
	labtest.Require(t, "ping", err == nil)
	run := f.start(Request{
		Receive: spec.ReceiveBusyPoll, Interfaces: []string{"b"}, CPUs: []int{1}, Mechanism: spec.PollEpoll,
		Scheduling: &spec.Scheduling{Policy: spec.SchedulingFIFO, Priority: 20},
	})
	kernels := run.Interfaces[0].NAPIs[0].PID
	if placed, err := napi.PlacementOf(kernels); err != nil || placed.String() != "fifo:21@1" {
		t.Errorf("behind a poller at fifo:20 the kernel's thread is %s, %v", placed, err)
	}
	// From the other CPU, where it can run at the same time as the poller.
	ping := func() *exec.Cmd {
		cmd := exec.Command("taskset", "-c", "0", "ping", "-c", "100", "-i", "0.02", "-W", "10", "198.18.7.2")
		if err := f.near.Do(cmd.Start); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		return cmd
	}
	if err := ping().Wait(); err != nil {
		t.Errorf("ping: %v", err)
	}
	if err := (napi.Placement{Policy: unix.SCHED_FIFO, Priority: 1, CPUs: []int{1}}).Place(kernels); err != nil {
		t.Fatal(err)
	}
	before, pinging := f.backOffs(run), ping()
	for begun := time.Now(); f.backOffs(run) == before; time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > patience {
			t.Fatal("the kernel's thread never had its CPU")
		}
	}
	_ = pinging.Wait() // some pings may have waited too long
	if err := ping().Wait(); err != nil {
		t.Errorf("ping while it backs off: %v", err)
	}
}
