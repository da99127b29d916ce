package napi_test

import (
	"testing"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/kernel/napi"
	"nines.dev/nines/test/labtest"
)

// TestAllInstancesAreListed: those of several devices and of several queues.
func TestAllInstancesAreListed(t *testing.T) {
	inPair(t, func(t *testing.T) {
		many := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "three", NumTxQueues: 4, NumRxQueues: 4}, PeerName: "four"}
		if err := netlink.LinkAdd(many); err != nil {
			t.Fatal(err)
		}
		want := map[int]int{}
		for _, name := range []string{"one", "two", "three"} {
			link, err := netlink.LinkByName(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := netlink.LinkSetUp(link); err != nil {
				t.Fatal(err)
			}
			if err := napi.Feature("rx-gro").Write(name, "1"); err != nil {
				t.Fatal(err)
			}
			want[link.Attrs().Index] = 1
			if name == "three" {
				want[link.Attrs().Index] = link.Attrs().NumRxQueues
			}
		}
		list, err := napi.List()
		labtest.Require(t, "a kernel that lists NAPI instances", err == nil)
		have := map[int]int{}
		for _, i := range list {
			have[i.Index]++
		}
		for index, queues := range want {
			if have[index] != queues {
				t.Errorf("device %d has %d queues, and %d instances are listed", index, queues, have[index])
			}
		}
	})
}
