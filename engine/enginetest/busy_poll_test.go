package enginetest

import (
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"nines.dev/nines/test/labtest"
)

// epollPolls reports whether this kernel has settings for epoll's busy polling (Linux 6.9).
func epollPolls(t *testing.T) bool {
	t.Helper()
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	var parameters [8]byte
	const getParameters = 0x80088A02 // EPIOCGPARAMS, include/uapi/linux/eventpoll.h
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), getParameters, uintptr(unsafe.Pointer(&parameters)))
	return errno == 0
}

// A receiver that polls before it sleeps uses epoll if its packets come through a NAPI instance,
// which a veth only has with GRO; otherwise it polls by itself. It reports which.
func TestBusyPollingByEpoll(t *testing.T) {
	labtest.Require(t, "Linux 6.9, for epoll's busy polling", epollPolls(t))
	for _, c := range []struct {
		name, backend, gro, opened string
		polls                      bool
	}{
		{"udp with NAPI", "udp", "on", "busy_poll by epoll", true},
		{"udp without NAPI", "udp", "off", "busy_poll by epoll", false},
		{"AF_PACKET", "raw", "on", "busy_poll by spinning", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := direct(t, 1500)
			feature(t, n.generator, "tx", "tso", "off")
			feature(t, n.generator, "rx", "gro", c.gro)
			engine := startEngine(t, n.generator)
			v := variant{backend: c.backend, io: "single", wait: "busy_poll", frameBytes: 64, ratePPS: 1000}
			open(t, engine, v.port("tx", "rx"))
			opened, err := engine.Open(v.port("rx", "tx"))
			if err != nil {
				t.Fatal(err)
			}
			if opened.Wait != c.opened {
				t.Errorf("the port says that it waits by %q, not %q", opened.Wait, c.opened)
			}
			r := sent(t, engine, v.trial("tx", "rx"))
			if r.RxPackets != r.TxPackets || r.RxPackets < 200 {
				t.Errorf("%d packets sent, %d received", r.TxPackets, r.RxPackets)
			}
			polled := slices.ContainsFunc(r.Notes, func(note string) bool { return strings.Contains(note, "times by epoll") })
			if polled != c.polls {
				t.Errorf("it polled by epoll: %v, not %v; notes: %q", polled, c.polls, r.Notes)
			}
		})
	}
}
