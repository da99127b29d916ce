package link

import (
	"context"
	"errors"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/test/labtest"
)

// TestCable: a frame passes between joined ports, and unjoined ports are reported, in the test's
// own namespace:
//
//	left ──veth── right      alone ──veth── (nobody)
func TestCable(t *testing.T) {
	labtest.Require(t, "root", os.Geteuid() == 0)
	runtime.LockOSThread()
	home, err := netns.Current()
	if err != nil {
		t.Fatal(err)
	}
	defer home.Close()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Fatal(err)
	}
	defer func() { // its devices go with the namespace
		if err := unix.Setns(home.FD(), unix.CLONE_NEWNET); err != nil {
			t.Fatal(err) // the thread stays locked
		}
		runtime.UnlockOSThread()
	}()
	for _, pair := range [][2]string{{"left", "right"}, {"alone", "nobody"}} {
		if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: pair[0]}, PeerName: pair[1]}); err != nil {
			t.Fatal(err)
		}
		for _, name := range pair {
			device, err := netlink.LinkByName(name)
			if err == nil {
				err = netlink.LinkSetUp(device)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := testCable(context.Background(), "left", "right"); err != nil {
		t.Error(err)
	}
	err = testCable(context.Background(), "left", "alone")
	var missing *exit.MissingError
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), "no frame from left arrives at alone") || !strings.Contains(err.Error(), "ports: [left]") {
		t.Errorf("two ports that nothing joins: %v", err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if err := testCable(ended, "left", "alone"); !errors.Is(err, context.Canceled) {
		t.Errorf("a test that is called off: %v", err)
	}
}
