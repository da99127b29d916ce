package netns

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/test/labtest"
)

func TestDoIsInsideAndComesBack(t *testing.T) {
	labtest.Require(t, "root", os.Geteuid() == 0)
	ns, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	home, err := Current()
	if err != nil {
		t.Fatal(err)
	}
	defer home.Close()
	errInside := errors.New("from inside")
	if err := ns.Do(func() error {
		interfaces, err := net.Interfaces()
		for _, i := range interfaces {
			if i.Flags&net.FlagUp != 0 {
				t.Errorf("%s is up in a fresh namespace", i.Name)
			}
		}
		return errors.Join(err, errInside)
	}); !errors.Is(err, errInside) {
		t.Errorf("the error was lost: %v", err)
	}
	here, err := Current()
	if err != nil {
		t.Fatal(err)
	}
	defer here.Close()
	before, _ := home.Inode()
	after, _ := here.Inode()
	inside, _ := ns.Inode()
	if before != after || before == inside || before == 0 {
		t.Errorf("namespaces: at home %d, inside %d, after %d", before, inside, after)
	}
	if err := ns.Sysctl("net.no.such", "1"); !errors.Is(err, ErrNoSysctl) {
		t.Errorf("a sysctl that is not there: %v", err)
	}
}

// TestSettleWaitsForDevices: Settle returns after the device in a namespace without users
// is gone.
func TestSettleWaitsForDevices(t *testing.T) {
	labtest.Require(t, "root", os.Geteuid() == 0)
	stays, err := New()
	if err != nil {
		t.Fatal(err)
	}
	defer stays.Close()
	handle, err := stays.Netlink()
	if err != nil {
		t.Fatal(err)
	}
	defer handle.Close()
	for range 5 {
		goes, err := New()
		if err != nil {
			t.Fatal(err)
		}
		pair := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "near"}, PeerName: "far", PeerNamespace: netlink.NsFd(goes.FD())}
		if err := handle.LinkAdd(pair); err != nil {
			t.Fatal(err)
		}
		goes.Close()
		if err := Settle(context.Background()); err != nil {
			t.Fatal(err)
		}
		if _, err := handle.LinkByName("near"); err == nil {
			t.Fatal("the pair is still there")
		}
	}
}
