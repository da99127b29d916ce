package busypoll

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/busypoll/kbp"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// loadModule loads the live patch until the test ends. Neither that nor the test may make
// the kernel complain.
func loadModule(t *testing.T) {
	t.Helper()
	path, err := kbp.Loadable()
	if err != nil {
		t.Fatal(err)
	}
	watchKernel(t)
	if err := kbp.Load(t.Context(), path, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unloadModule(t) })
}

// unloadModule unloads it and checks that nothing is left.
func unloadModule(t *testing.T) {
	t.Helper()
	if err := kbp.Unload(context.Background(), nil); err != nil {
		t.Error(err)
	}
	state, err := kbp.Now()
	if err != nil || state != kbp.Absent {
		t.Errorf("the module is %s, %v", state, err)
	}
	if threads, err := kbp.Threads(); err != nil || len(threads) > 0 {
		t.Errorf("threads left: %v, %v", threads, err)
	}
	if _, err := os.Stat("/proc/thread-self/net/nines_kbp"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its file: %v", err)
	}
}

// complaint matches kernel log lines that must not appear.
var complaint = regexp.MustCompile(`BUG|WARNING|Oops|general protection|stall|soft lockup|hung|Call Trace|unregister_netdevice: waiting`)

// watchKernel fails the test if the kernel complains while the test runs.
func watchKernel(t *testing.T) {
	t.Helper()
	read := func() []string {
		log := make([]byte, 4<<20)
		n, err := unix.Klogctl(unix.SYSLOG_ACTION_READ_ALL, log)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(string(log[:n]), "\n")
	}
	before := len(read())
	t.Cleanup(func() {
		for _, line := range read()[before-1:] {
			if complaint.MatchString(line) {
				t.Errorf("the kernel says: %s", line)
			}
		}
	})
}

// netRX is the number of receive softirqs so far, on all CPUs.
func netRX(t *testing.T) (count uint64) {
	t.Helper()
	text, err := os.ReadFile("/proc/softirqs")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "NET_RX:" {
			continue
		}
		for _, field := range fields[1:] {
			n, err := strconv.ParseUint(field, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			count += n
		}
	}
	return count
}

// pollBothEnds lets the live patch poll both ends, each on its own CPU.
func pollBothEnds(f *fixture, adaptive bool) (near, far *Running) {
	f.Helper()
	request := Request{Receive: spec.ReceiveBusyPoll, Mechanism: spec.PollLivepatch, Adaptive: adaptive}
	site := f.site
	site.Namespace, site.Name = f.near, "near"
	request.Interfaces, request.CPUs = []string{"a"}, []int{2}
	near, err := site.Start(f.Context(), request)
	if err != nil {
		f.Fatal(err)
	}
	request.Interfaces, request.CPUs = []string{"b"}, []int{3}
	far = f.start(request)
	return near, far
}

// instances are those of one end, from the module.
func instances(f *fixture, ns *netns.Namespace) (list []kbp.Instance) {
	f.Helper()
	err := ns.Do(func() (err error) {
		list, err = kbp.List()
		return err
	})
	if err != nil {
		f.Fatal(err)
	}
	return list
}

// awaitOwned waits until the threads own all receiving instances of an end.
func awaitOwned(f *fixture, ns *netns.Namespace) {
	f.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		waiting := slices.ContainsFunc(instances(f, ns), func(i kbp.Instance) bool { return i.Kind != "tx" && !i.Owned })
		if !waiting {
			return
		}
		if time.Now().After(deadline) {
			f.Fatalf("not owned: %+v", instances(f, ns))
		}
	}
}

// proveLivepatch shows that the threads poll everything that arrives at both ends, that it
// raises no receive softirq, and that all is restored afterwards.
func proveLivepatch(f *fixture, packets int) {
	f.Helper()
	before := f.settings()
	begin := netRX(f.T)
	if n := f.exchange(packets); n != packets {
		f.Errorf("by softirqs: %d of %d answered", n, packets)
	}
	if plain := netRX(f.T) - begin; plain < uint64(packets)/2 {
		f.Errorf("without polling, %d packets there and back raised only %d receive softirqs: the test proves nothing", packets, plain)
	}
	near, far := pollBothEnds(f, false)
	awaitOwned(f, f.near)
	awaitOwned(f, f.far)
	if far.Mechanism != "livepatch" || len(far.Interfaces) != 1 || len(far.Interfaces[0].NAPIs) == 0 {
		f.Fatalf("started as %+v", far)
	}
	received := func(list []kbp.Instance) (sum uint64) {
		for _, i := range list {
			if i.Kind == "rx" {
				sum += i.Packets
			}
		}
		return sum
	}
	start := received(instances(f, f.far))
	var softirqs uint64
	own, others := PollCount{}, PollCount{}
	polls, err := CountPolls()
	if err != nil {
		f.Fatal(err)
	}
	begin = netRX(f.T)
	if n := f.exchange(packets); n != packets {
		f.Errorf("polled: %d of %d answered", n, packets)
	}
	softirqs = netRX(f.T) - begin
	counts, err := polls.Counts()
	if err := errors.Join(err, polls.Close()); err != nil {
		f.Fatal(err)
	}
	ours := map[int]bool{}
	for _, run := range []*Running{near, far} {
		for _, instance := range run.Interfaces[0].NAPIs {
			ours[instance.PID] = true
		}
	}
	for poll, count := range counts {
		if ours[poll.TID] {
			own = own.plus(count)
		} else {
			others = others.plus(count)
		}
	}
	f.Logf("%d packets there and back: %d receive softirqs; polls by the threads %+v, by others %+v", packets, softirqs, own, others)
	if own.Packets < 2*uint64(packets) || others.Packets > 0 {
		f.Errorf("the threads polled %+v, others %+v", own, others)
	}
	if came := received(instances(f, f.far)) - start; came < uint64(packets) {
		f.Errorf("the module counted %d of %d packets", came, packets)
	}
	// Softirqs of the rest of the machine, more the longer the test takes: 69 were seen, in which
	// nobody polled a packet. The devices' packets there and back would raise two for each packet.
	if softirqs > uint64(packets)/2 {
		f.Errorf("%d packets there and back raised %d receive softirqs", packets, softirqs)
	}
	f.stop()
	if after := f.settings(); fmt.Sprint(after) != fmt.Sprint(before) || len(f.notes) > 0 {
		f.Errorf("settings before %v\nafter %v\nnotes %q", before, after, f.notes)
	}
	if threads, err := kbp.Threads(); err != nil || len(threads) > 0 {
		f.Errorf("threads left: %v, %v", threads, err)
	}
	begin = netRX(f.T)
	if n := f.exchange(packets); n != packets {
		f.Errorf("afterwards: %d of %d answered", n, packets)
	}
	if plain := netRX(f.T) - begin; plain < uint64(packets)/2 {
		f.Errorf("afterwards, %d packets there and back raised only %d receive softirqs", packets, plain)
	}
}

// fewPackets go back and forth: a translated guest takes milliseconds for each.
const fewPackets = 300

func TestLabLivepatchPollsAVeth(t *testing.T) {
	labtest.EveryKernel(t, labtest.BootMain, labtest.BootNew)
	loadModule(t)
	f := newFixture(t)
	if _, why, err := Choose(f.site.Features, spec.PollAuto); err != nil {
		t.Errorf("auto finds nothing: %v, %v", why, err)
	}
	proveLivepatch(f, fewPackets)
	if err := unix.DeleteModule(kbp.Name, unix.O_NONBLOCK); !errors.Is(err, unix.EBUSY) && !errors.Is(err, unix.EAGAIN) {
		t.Errorf("the module may go while the patch is on: %v", err)
	}
}

// The module is loaded for the first user and unloaded with the last.
func TestLabLivepatchIsLoadedForWhoPolls(t *testing.T) {
	labtest.VirtualLab(t, labtest.BootMain, labtest.BootNew)
	is := func(want kbp.State) {
		t.Helper()
		if state, err := kbp.Now(); err != nil || state != want {
			t.Fatalf("the module is %s, not %s: %v", state, want, err)
		}
	}
	watchKernel(t)
	is(kbp.Absent)
	f := newFixture(t)
	pollBothEnds(f, false)
	is(kbp.Loaded)
	if err := kbp.Acquire(t.Context(), kbp.UsersFile, "another"); err != nil {
		t.Fatal(err)
	}
	f.stop()
	is(kbp.Loaded)
	if err := kbp.Release(t.Context(), kbp.UsersFile, "another", func(note string) { t.Error(note) }); err != nil {
		t.Fatal(err)
	}
	is(kbp.Absent)
	if _, err := os.Stat(kbp.UsersFile); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file of its users: %v", err)
	}
	// A module loaded by hand stays.
	loadModule(t)
	pollBothEnds(f, false)
	f.stop()
	is(kbp.Loaded)
}

// Threads with a real-time policy are guarded for as long as they poll.
func TestLabLivepatchIsGuarded(t *testing.T) {
	labtest.VirtualLab(t, labtest.BootMain)
	loadModule(t)
	f := newFixture(t)
	run := f.start(Request{Receive: spec.ReceiveBusyPoll, Mechanism: spec.PollLivepatch, CPUs: []int{3},
		Scheduling: &spec.Scheduling{Policy: spec.SchedulingFIFO, Priority: 10}})
	if run.Guard == nil || !run.Guard.Alive() {
		t.Fatalf("it has no watchdog: %+v", run.Guard)
	}
	threads, err := run.Threads()
	// The guard sets it to idle for a moment where it starves softirqs, which an emulated machine may have waiting.
	for end := time.Now().Add(20 * time.Second); err == nil && len(threads) == 1 && threads[0].Placement == "idle:0@3" && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
		threads, err = run.Threads()
	}
	if err != nil || len(threads) != 1 || threads[0].TID != run.Interfaces[0].NAPIs[0].PID || threads[0].Placement != "fifo:10@3" {
		t.Errorf("the threads are %+v: %v", threads, err)
	}
	if n := f.exchange(fewPackets); n != fewPackets {
		t.Errorf("%d of %d answered", n, fewPackets)
	}
	f.stop()
	if run.Guard.Alive() {
		t.Error("someone watches when nobody polls")
	}
}

// An adaptive thread sleeps, and still receives everything.
func TestLabLivepatchSleepsIfAdaptive(t *testing.T) {
	labtest.VirtualLab(t, labtest.BootMain, labtest.BootNew)
	loadModule(t)
	f := newFixture(t)
	pollBothEnds(f, true)
	awaitOwned(f, f.far)
	f.awaitAnswer()
	if n := f.exchange(fewPackets); n != fewPackets {
		t.Errorf("%d of %d answered", n, fewPackets)
	}
	for _, i := range instances(f, f.far) {
		if i.Sleeps == 0 || i.Longest != defaultLongest {
			t.Errorf("it does not sleep: %+v", i)
		}
	}
}

// What happens to devices while they are polled: they go down and up, get another receive
// mode, go away, alone or with their namespace, and the module goes before them.
func TestLabLivepatchLetsGo(t *testing.T) {
	labtest.VirtualLab(t, labtest.BootMain, labtest.BootNew)
	loadModule(t)
	f := newFixture(t)
	pollBothEnds(f, false)
	awaitOwned(f, f.far)
	in := func(ns *netns.Namespace, name string, do func(netlink.Link) error) {
		t.Helper()
		err := ns.Do(func() error {
			link, err := netlink.LinkByName(name)
			if err != nil {
				return err
			}
			return do(link)
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	in(f.far, "b", netlink.LinkSetDown)
	if list := instances(f, f.far); len(list) != 1 || list[0].Kind != "gone" || list[0].Owned {
		t.Errorf("of a device that is down: %+v", list)
	}
	in(f.far, "b", netlink.LinkSetUp)
	awaitOwned(f, f.far)
	f.awaitAnswer()
	if n := f.exchange(20); n != 20 {
		t.Errorf("after down and up, %d of 20 answered", n)
	}
	in(f.near, "a", netlink.LinkDel)
	if threads, err := kbp.Threads(); err != nil || len(threads) > 0 {
		t.Errorf("the devices are gone, their threads are not: %v, %v", threads, err)
	}
	f.stop() // the devices are gone

	other := newFixture(t)
	pollBothEnds(other, false)
	awaitOwned(other, other.far)
	other.awaitAnswer()
	unloadModule(t)
	if n := other.exchange(20); n != 20 {
		t.Errorf("after the module has gone, %d of 20 answered", n)
	}
	other.stop() // polling ended with the module
}

// The module is loaded and unloaded under traffic, again and again; NINES_CYCLES says how
// often. Since Linux 6.3 the kernel patches each call of cond_resched() before and after a
// transition (klp_sched_try_switch), some thousands with three interrupts of all CPUs each:
// that takes a fraction of a second on a machine, and minutes if QEMU translates.
func TestLabLivepatchComesAndGoes(t *testing.T) {
	labtest.VirtualLab(t, labtest.BootMain, labtest.BootNew)
	cycles := 4
	if os.Getenv(labtest.BootVariable) == labtest.BootNew {
		cycles = 1
	}
	if text := os.Getenv("NINES_CYCLES"); text != "" {
		var err error
		if cycles, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	path, err := kbp.Loadable()
	if err != nil {
		t.Fatal(err)
	}
	watchKernel(t)
	f := newFixture(t)
	var stop atomic.Bool
	var lost, answered atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !stop.Load() {
			n := f.exchange(10)
			answered.Add(int64(n))
			lost.Add(int64(10 - n))
		}
	}()
	t.Cleanup(func() { // before the namespaces go
		stop.Store(true)
		<-done
	})
	for cycle := range cycles {
		begun := time.Now()
		if err := kbp.Load(t.Context(), path, nil); err != nil {
			t.Fatalf("cycle %d: %v", cycle, err)
		}
		loading := time.Since(begun)
		f.site.Features = Probe()
		pollBothEnds(f, cycle%2 == 1)
		awaitOwned(f, f.far)
		for before := answered.Load(); answered.Load() == before; {
			time.Sleep(10 * time.Millisecond)
		}
		if cycle%3 != 2 { // otherwise unloading the module ends polling
			f.stop()
		}
		begun = time.Now()
		if err := kbp.Unload(t.Context(), nil); err != nil {
			t.Fatalf("cycle %d: %v", cycle, err)
		}
		unloading := time.Since(begun)
		f.stop()
		t.Logf("cycle %d: loading %.1f s, unloading %.1f s; %d answered, %d lost",
			cycle, loading.Seconds(), unloading.Seconds(), answered.Load(), lost.Load())
	}
	stop.Store(true)
	<-done
	// A device that loses its NAPI when GRO is turned off drops what was in its ring.
	if lost.Load() > int64(4*cycles) {
		t.Errorf("%d packets lost, %d answered", lost.Load(), answered.Load())
	}
	unloadModule(t)
}

// cardFixture has two cards of the laboratory, connected by a cable, in place of a veth
// pair: renamed to a and b while the test runs.
func cardFixture(t *testing.T, driver string) *fixture {
	t.Helper()
	cards := twoCards(t, driver)
	f := &fixture{T: t, near: newNamespace(t), far: newNamespace(t)}
	move := func(name, into string, ns *netns.Namespace, address string) {
		t.Helper()
		home, err := netns.Current()
		if err != nil {
			t.Fatal(err)
		}
		link, err := netlink.LinkByName(name)
		if err == nil {
			err = errors.Join(netlink.LinkSetDown(link), netlink.LinkSetName(link, into), netlink.LinkSetNsFd(link, ns.FD()))
		}
		if err != nil {
			t.Fatalf("move %s: %v", name, err)
		}
		t.Cleanup(func() {
			err := ns.Do(func() error {
				link, err := netlink.LinkByName(into)
				if err != nil {
					return err
				}
				return errors.Join(netlink.LinkSetDown(link), netlink.LinkSetName(link, name), netlink.LinkSetNsFd(link, home.FD()))
			})
			if err := errors.Join(err, home.Close()); err != nil {
				t.Errorf("move %s back: %v", name, err)
			}
		})
		err = ns.Do(func() error {
			link, err := netlink.LinkByName(into)
			if err != nil {
				return err
			}
			parsed, err := netlink.ParseAddr(address)
			if err != nil {
				return err
			}
			return errors.Join(netlink.AddrAdd(link, parsed), netlink.LinkSetUp(link))
		})
		if err != nil {
			t.Fatalf("set up %s: %v", name, err)
		}
	}
	move(cards[0], "a", f.near, "198.18.7.1/24")
	move(cards[1], "b", f.far, "198.18.7.2/24")
	// A driver of virtual functions that missed an answer of its port takes the carrier away when it looks
	// next, within 2 s.
	const steady = 3 * time.Second
	for since, deadline := time.Now(), time.Now().Add(2*time.Minute); time.Since(since) < steady; {
		if f.exchange(1) == 0 {
			since = time.Now()
		}
		if time.Now().After(deadline) {
			t.Fatalf("packets from %s to %s and back were never all there for %s", cards[0], cards[1], steady)
		}
	}
	f.openSite()
	return f
}

// twoCards are the interfaces of a driver that has two, sorted by name.
func twoCards(t *testing.T, driver string) (names []string) {
	t.Helper()
	links, err := filepath.Glob("/sys/class/net/*/device/driver")
	if err != nil {
		t.Fatal(err)
	}
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && filepath.Base(target) == driver {
			names = append(names, strings.Split(link, "/")[4])
		}
	}
	if len(names) != 2 {
		t.Fatalf("cards of %s: %v", driver, names)
	}
	return names
}

func TestLabLivepatchPollsCards(t *testing.T) {
	labtest.VirtualLab(t, labtest.BootMain, labtest.BootNew)
	loadModule(t)
	proveLivepatch(cardFixture(t, "igb"), fewPackets)
}

func TestLabLivepatchPollsVFs(t *testing.T) {
	labtest.LongForm(t) // TestLabLivepatchPollsCards has the ports themselves
	labtest.VirtualLab(t, labtest.BootMain, labtest.BootNew)
	cards := twoCards(t, "igb")
	// A VF asks for its port's link state when it comes up itself.
	for _, card := range cards {
		link, err := netlink.LinkByName(card)
		if err := errors.Join(err, netlink.LinkSetUp(link)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { // down again: a port that is up counts as used
			if err := netlink.LinkSetDown(link); err != nil {
				t.Error(err)
			}
		})
	}
	for _, card := range cards {
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			carrier, err := os.ReadFile("/sys/class/net/" + card + "/carrier")
			if err == nil && strings.TrimSpace(string(carrier)) == "1" {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s has no carrier", card)
			}
		}
		// One VF of each card: the card itself switches between two of its VFs,
		// without the cable.
		vfs := fmt.Sprintf("/sys/class/net/%s/device/sriov_numvfs", card)
		if err := os.WriteFile(vfs, []byte("1"), 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := os.WriteFile(vfs, []byte("0"), 0); err != nil {
				t.Error(err)
			}
		})
	}
	loadModule(t)
	proveLivepatch(cardFixture(t, "igbvf"), fewPackets)
}

// virtio-net has instances that only clean up after sending, which the patch hands over.
func TestLabLivepatchPollsVirtio(t *testing.T) {
	labtest.VirtualLab(t, labtest.BootVirtio, labtest.BootNewVirt)
	loadModule(t)
	proveLivepatch(cardFixture(t, "virtio_net"), fewPackets)
}
