package discovery

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/test/labtest"
)

// TestChangesOfCardsAreTold follows a network namespace of its own, in which the loopback device
// stands for a card: like one, it has no kind.
func TestChangesOfCardsAreTold(t *testing.T) {
	labtest.Root(t)
	ctx, stop := context.WithCancel(t.Context())
	changed, handles, ended := make(chan struct{}, 1), make(chan *netlink.Handle, 1), make(chan error, 1)
	go func() {
		// Never unlocked: the thread ends with the goroutine, and the namespace with both.
		runtime.LockOSThread()
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err != nil {
			close(handles)
			ended <- err
			return
		}
		handle, err := netlink.NewHandle()
		if err != nil {
			close(handles)
			ended <- err
			return
		}
		handles <- handle
		ended <- follow(ctx, func(name string) bool { return name == "br0" }, changed)
	}()
	handle, ok := <-handles
	if !ok {
		t.Fatal(<-ended)
	}
	defer handle.Close()
	if err := handle.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "pod0"}, PeerName: "pod1"}); err != nil {
		t.Fatal(err)
	}
	pod, err := handle.LinkByName("pod0")
	if err != nil {
		t.Fatal(err)
	}
	card, err := handle.LinkByName("lo")
	if err != nil {
		t.Fatal(err)
	}
	if isCard(pod) || !isCard(card) {
		t.Errorf("%s counts as a card: %t; %s: %t", pod.Type(), isCard(pod), card.Type(), isCard(card))
	}
	// The kernel may not have been asked yet, so it is changed until that is told.
	up := false
	await(t, "a change is told", func() bool {
		up = !up
		change := handle.LinkSetDown
		if up {
			change = handle.LinkSetUp
		}
		if err := change(card); err != nil {
			t.Fatal(err)
		}
		select {
		case <-changed:
			return true
		default:
			return false
		}
	})
	select { // of the last change, which may have been told after it was asked
	case <-changed:
	case <-time.After(100 * time.Millisecond):
	}
	if err := handle.LinkAdd(&netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "br0"}}); err != nil {
		t.Fatal(err)
	}
	await(t, "a device that is asked for by its name is told", func() bool {
		select {
		case <-changed:
			return true
		default:
			return false
		}
	})
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
