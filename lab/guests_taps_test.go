package lab

import (
	"fmt"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestEachMachineTakesItsTaps: machines take them side by side. Those of a machine that ended meanwhile
// are closed, and no others. Descriptors of events stand for taps; TestARestartedMachineKeepsCarriers
// has real ones. It is pure.
func TestEachMachineTakesItsTaps(t *testing.T) {
	open := func() int {
		fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC)
		if err != nil {
			t.Fatal(err)
		}
		return fd
	}
	isOpen := func(fd int) bool {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		return err == nil
	}
	const machines, each = 32, 4
	b := &builder{}
	kept := map[string][]int{}
	for i := range machines {
		name := fmt.Sprint("m", i)
		for range each {
			kept[name] = append(kept[name], open())
		}
		b.taps.keep(name, kept[name], true)
		ended := open()
		b.taps.keep("ended", []int{ended}, false)
		if isOpen(ended) || !isOpen(kept["m0"][0]) {
			t.Fatal("a machine that ended closes other taps than its own")
		}
	}
	if b.takeTap("ended") != nil {
		t.Error("a tap is there of a machine that ended")
	}
	var all sync.WaitGroup
	for name, taps := range kept {
		all.Go(func() {
			for i := range each - 1 {
				tap := b.takeTap(name)
				if tap == nil || int(tap.Fd()) != taps[i] {
					t.Errorf("tap %d of %s is %v, want %d", i, name, tap, taps[i])
					continue
				}
				_ = tap.Close()
			}
		})
	}
	all.Wait()
	b.taps.close()
	for name, taps := range kept {
		if isOpen(taps[each-1]) {
			t.Errorf("the tap that %s did not take is open", name)
		}
	}
	if b.takeTap("m0") != nil {
		t.Error("a tap is there that was closed")
	}
}
