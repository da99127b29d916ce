package lab

import (
	"errors"
	"maps"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"nines.dev/nines/plan"
)

// firstTap is the descriptor of QEMU's first tap; the others follow it (connect).
const firstTap = 3

// keptTaps are the taps that machines had open when they were ended to be restarted, by node:
// descriptors. Machines boot side by side, and each takes its own.
type keptTaps struct {
	mu sync.Mutex
	of map[string][]int
}

// keepTaps takes over the taps of virtual machines that are restarted. A tap has a carrier only while
// a process has it open, so without this the other end of each link would lose its own. Where the
// kernel cannot (before Linux 5.6), the carriers go and come back.
func (b *builder) keepTaps(nodes []plan.Node) {
	for _, n := range nodes {
		r := b.Running(n.Name)
		if !n.Guest() || !b.Alive(n.Name) {
			continue
		}
		pidfd, err := unix.PidfdOpen(r.QEMU.PID, 0)
		if err != nil {
			continue
		}
		var taps []int
		for i := range b.tapsOf(n) {
			fd, err := unix.PidfdGetfd(pidfd, firstTap+i, 0)
			if err != nil {
				break
			}
			if !isTap(fd) {
				_ = unix.Close(fd)
				break
			}
			taps = append(taps, fd)
		}
		_ = unix.Close(pidfd)
		// Otherwise the process id may have been another's by then.
		b.taps.keep(n.Name, taps, r.QEMU.Alive())
	}
}

// keep keeps the taps of a node, or closes them if they may be another's.
func (k *keptTaps) keep(nodeName string, taps []int, its bool) {
	if !its {
		closeAll(taps)
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of == nil {
		k.of = map[string][]int{}
	}
	k.of[nodeName] = taps
}

// next is the next tap that was kept for a node; false if none is left.
func (k *keptTaps) next(nodeName string) (int, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	taps := k.of[nodeName]
	if len(taps) == 0 {
		return 0, false
	}
	k.of[nodeName] = taps[1:]
	return taps[0], true
}

// close closes those that nobody took.
func (k *keptTaps) close() {
	k.mu.Lock()
	defer k.mu.Unlock()
	closeAll(slices.Concat(slices.Collect(maps.Values(k.of))...))
	k.of = nil
}

func closeAll(descriptors []int) {
	for _, fd := range descriptors {
		_ = unix.Close(fd)
	}
}

// tapsOf is how many taps a virtual machine has.
func (b *builder) tapsOf(n plan.Node) int {
	taps := 0
	for _, i := range n.Interfaces {
		made, e := b.Index().EndOf(n.Name, i.Name)
		if made != nil && !made.Kind.Descriptor().End.IsHardware() && e.Attach != plan.AttachVhost {
			taps++
		}
	}
	return taps
}

// isTap is true for a descriptor of a tap.
func isTap(fd int) bool {
	request, err := unix.NewIfreq("none")
	return err == nil && unix.IoctlIfreq(fd, unix.TUNGETIFF, request) == nil
}

// takeTap is the next tap that was kept for a machine, without the frames that came while nobody read
// them; nil if none was.
func (b *builder) takeTap(nodeName string) *os.File {
	tap, kept := b.taps.next(nodeName)
	if !kept {
		return nil
	}
	frame := make([]byte, 1<<16)
	if unix.SetNonblock(tap, true) == nil {
		for range maxStale {
			if _, err := unix.Read(tap, frame); errors.Is(err, unix.EAGAIN) {
				break
			}
		}
	}
	return os.NewFile(uintptr(tap), "tap of "+nodeName)
}

// maxStale is more frames than a tap's queue holds (txQueueLen of package link).
const maxStale = 4096
