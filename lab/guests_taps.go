package lab

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"nines.dev/nines/plan"
)

// firstTap is the descriptor of QEMU's first tap; the others follow it (connect).
const firstTap = 3

// keepTaps takes over the taps of virtual machines that are restarted. A tap has a carrier only while
// a process has it open, so without this the other end of each link would lose its own. Where the
// kernel cannot (before Linux 5.6), the carriers go and come back.
func (b *builder) keepTaps(nodes []plan.Node) {
	b.taps = map[string][]int{}
	for _, n := range nodes {
		r := b.running.of(n.Name)
		if !n.Guest() || !b.Alive(n.Name) {
			continue
		}
		pidfd, err := unix.PidfdOpen(r.QEMU.PID, 0)
		if err != nil {
			continue
		}
		for i := range b.tapsOf(n) {
			fd, err := unix.PidfdGetfd(pidfd, firstTap+i, 0)
			if err != nil || !isTap(fd) {
				break
			}
			b.taps[n.Name] = append(b.taps[n.Name], fd)
		}
		_ = unix.Close(pidfd)
		if !r.QEMU.Alive() {
			b.closeTaps() // the process id may have been another's by then
		}
	}
}

// tapsOf is how many taps a virtual machine has.
func (b *builder) tapsOf(n plan.Node) int {
	taps := 0
	for _, i := range n.Interfaces {
		made, e := endpointOf(b.plan, n.Name, i.Name)
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
	kept := b.taps[nodeName]
	if len(kept) == 0 {
		return nil
	}
	b.taps[nodeName] = kept[1:]
	frame := make([]byte, 1<<16)
	if unix.SetNonblock(kept[0], true) == nil {
		for range maxStale {
			if _, err := unix.Read(kept[0], frame); errors.Is(err, unix.EAGAIN) {
				break
			}
		}
	}
	return os.NewFile(uintptr(kept[0]), "tap of "+nodeName)
}

// maxStale is more frames than a tap's queue holds (txQueueLen of package link).
const maxStale = 4096

func (b *builder) closeTaps() {
	for _, taps := range b.taps {
		for _, tap := range taps {
			_ = unix.Close(tap)
		}
	}
	b.taps = nil
}
