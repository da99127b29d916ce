package busypoll

import (
	"errors"
	"fmt"
	"testing"

	"nines.dev/nines/kernel/napi"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// byThreads returns the packets received by polls of these threads, and by all others, on
// all devices.
func byThreads(f *fixture, threads []Thread, during func()) (own, others uint64) {
	f.Helper()
	polls, err := CountPolls()
	if err != nil {
		f.Fatal(err)
	}
	during()
	counts, err := polls.Counts()
	if err := errors.Join(err, polls.Close()); err != nil {
		f.Fatal(err)
	}
	ours := map[int]bool{}
	for _, t := range threads {
		ours[t.TID] = true
	}
	for poll, count := range counts {
		if ours[poll.TID] {
			own += count.Packets
		} else {
			others += count.Packets
		}
	}
	return own, others
}

// proveThreads shows that threads receive what arrives at the far end, with any mechanism,
// and that all is restored afterwards.
func proveThreads(f *fixture, r Request) {
	f.Helper()
	before := f.settings()
	r.Interfaces, r.CPUs = []string{"b"}, []int{3}
	run := f.start(r)
	threads, err := run.Threads()
	if err != nil || len(threads) == 0 {
		f.Fatalf("threads %v, %v", threads, err)
	}
	// With epoll, the kernel's thread of the instance receives what the poller does
	// not.
	if err := f.far.Do(func() error {
		kernels, err := napi.Threads("b")
		for tid := range kernels {
			threads = append(threads, Thread{TID: tid})
		}
		return err
	}); err != nil {
		f.Fatal(err)
	}
	var softirqs uint64
	own, others := byThreads(f, threads, func() {
		begin := netRX(f.T)
		if n := f.exchange(fewPackets); n != fewPackets {
			f.Errorf("%d of %d answered", n, fewPackets)
		}
		softirqs = netRX(f.T) - begin
	})
	f.Logf("%s: %d packets there and back: by its threads %d, by others %d; %d receive softirqs", run.Mechanism, fewPackets, own, others, softirqs)
	// The near end receives by interrupts: the answers count for the others.
	if own < fewPackets {
		f.Errorf("its threads received %d of %d packets", own, fewPackets)
	}
	if others > 2*fewPackets {
		f.Errorf("others received %d packets", others)
	}
	f.stop()
	if after := f.settings(); fmt.Sprint(after) != fmt.Sprint(before) || len(f.notes) > 0 {
		f.Errorf("settings before %v\nafter %v\nnotes %q", before, after, f.notes)
	}
	if n := f.exchange(20); n != 20 {
		f.Errorf("afterwards, %d of 20 answered", n)
	}
}

func TestLabThreadedCards(t *testing.T) {
	labtest.VirtualLab(t, labtest.BootNew, labtest.BootMain)
	watchKernel(t)
	proveThreads(cardFixture(t, "igb"), Request{Receive: spec.ReceiveThreaded})
}

func TestLabThreadedVirtio(t *testing.T) {
	labtest.VirtualLab(t, labtest.BootVirtio, labtest.BootNewVirt)
	watchKernel(t)
	proveThreads(cardFixture(t, "virtio_net"), Request{Receive: spec.ReceiveThreaded})
}

// Linux 6.12 can poll without the module, too.
func TestLabEpollPollsAVeth(t *testing.T) {
	labtest.VirtualLab(t, labtest.BootNew)
	watchKernel(t)
	f := newFixture(t)
	if err := f.far.Do(func() error { _, err := napi.List(); return err }); err != nil {
		t.Fatal(err)
	}
	proveThreads(f, Request{Receive: spec.ReceiveBusyPoll, Mechanism: spec.PollEpoll})
}
