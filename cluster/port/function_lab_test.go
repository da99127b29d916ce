package port

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vishvananda/netlink"

	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/kernel/pci"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// TestLabPodsHaveVirtualFunctions has pods with functions of two cards that a cable joins, in a VLAN of
// theirs. One pod gives its function back while its namespace is there, the other when that is gone.
//
//	pod ── VF 0 of eth0 (VLAN 7) ══ VF 0 of eth1 (VLAN 7) ── pod
func TestLabPodsHaveVirtualFunctions(t *testing.T) {
	labtest.VirtualLab(t)
	labtest.Root(t)
	var bus pci.Bus
	cards := []string{"eth0", "eth1"}
	addresses := make([]string, len(cards))
	for i, card := range cards {
		address, err := addressOf(bus, card)
		if err != nil {
			t.Fatal(err)
		}
		addresses[i] = address
		file := fmt.Sprintf("/sys/class/net/%s/device/sriov_numvfs", card)
		if err := os.WriteFile(file, []byte("2"), 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := os.WriteFile(file, []byte("0"), 0); err != nil {
				t.Error(err)
			}
		})
		for index := range 2 {
			if _, err := bus.AwaitInterface(t.Context(), bus.VF(address, index)); err != nil {
				t.Fatal(err)
			}
		}
	}
	type state struct {
		Port      pci.Port
		Functions []pci.State
	}
	look := func() (all []state) {
		t.Helper()
		for _, address := range addresses {
			port, err := bus.ReadPort(address)
			if err != nil {
				t.Fatal(err)
			}
			s := state{Port: port}
			for index := range 2 {
				f, err := bus.ReadState(bus.VF(address, index), address, index)
				if err != nil {
					t.Fatal(err)
				}
				s.Functions = append(s.Functions, f)
			}
			all = append(all, s)
		}
		return all
	}
	before := look()

	k := Keeper{Folder: filepath.Join(t.TempDir(), "ports")}
	t.Cleanup(func() { // where the test has failed
		for _, holder := range []string{"claim-0", "claim-1", "program", "other"} {
			if err := k.GiveBack(context.Background(), holder); err != nil {
				t.Error(err)
			}
		}
	})
	pods := make([]*netns.Namespace, len(cards))
	attach := func(i int) Held {
		t.Helper()
		o := Order{
			Holder: fmt.Sprint("claim-", i), Pod: Pod{UID: fmt.Sprint(i)}, Interface: "fast0",
			Port:      Port{Name: fmt.Sprintf("sriov-%s-1", cards[i]), Tier: spec.LinkSRIOV, Parent: cards[i], VLAN: 7, AFXDP: true},
			Addresses: []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 7, 0, byte(i + 1)}), 24)},
		}
		if _, err := k.Take(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		held, err := k.Attach(t.Context(), o.Holder, o.Port.Name, path(pods[i]))
		if err != nil {
			t.Fatal(err)
		}
		return held
	}
	for i := range cards {
		pods[i] = namespace(t)
		held := attach(i)
		if again := attach(i); again.Cookie != held.Cookie || !again.Since.Equal(held.Since) {
			t.Errorf("attached again: %+v, before %+v", again, held)
		}
		settings, err := pci.ReadVFSettings(cards[i])
		if err != nil || settings[0].VLAN != 7 || settings[0].MAC != held.MAC {
			t.Errorf("%s holds %+v, %v for a pod with %s", cards[i], settings, err, held.MAC)
		}
	}
	untilPacketsPass(t, pods)
	// A pod that starts again: the kernel brings its function back with the program that it had.
	_ = pods[0].Close()
	if err := netns.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	pods[0] = namespace(t)
	held := attach(0)
	if _, err := os.Stat(filepath.Join(k.MapFolder(held.Port), socketMap)); err != nil {
		t.Error(err)
	}
	untilPacketsPass(t, pods)

	// A program's, beside it on the same card.
	program := Order{Holder: "program", Pod: Pod{UID: "program"}, Port: Port{Name: "sriov-eth0-2", Tier: spec.LinkSRIOV, Parent: "eth0", Function: 1, Driver: spec.DriverVFIO}}
	driven, err := k.Take(t.Context(), program)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := k.Take(t.Context(), program); err != nil || again.PCI != driven.PCI || driven.PCI != bus.VF(addresses[0], 1) {
		t.Errorf("taken again: %+v, %v, before %+v", again, err, driven)
	}
	if nodes := driven.DeviceNodes(); len(nodes) != 2 || bus.Driver(driven.PCI) != string(spec.DriverVFIO) {
		t.Errorf("%s has the driver %s and the device nodes %q", driven.PCI, bus.Driver(driven.PCI), nodes)
	}
	if err := k.GiveBack(t.Context(), "program"); err != nil {
		t.Error(err)
	}

	// A second port of the same card, and a function that someone else uses.
	other := Order{Holder: "other", Interface: "fast0", Port: Port{Name: "sriov-eth0-9", Tier: spec.LinkSRIOV, Parent: "eth0"}}
	if _, err := k.Take(t.Context(), other); err == nil {
		t.Error("a function was given twice")
	}

	if err := k.GiveBack(t.Context(), "claim-0"); err != nil {
		t.Error(err)
	}
	_ = pods[1].Close()
	if err := netns.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := k.GiveBack(t.Context(), "claim-1"); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(before, look()); diff != "" {
		t.Errorf("the cards were given back differently: -before +after\n%s", diff)
	}
	if left, err := os.ReadDir(k.Folder); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	if claims, _ := filepath.Glob(filepath.Join(pci.ClaimsDir, "*")); len(claims) > 0 {
		t.Errorf("claims left: %v", claims)
	}
}

// untilPacketsPass waits until packets pass between two pods. A driver of functions that missed an answer of its card
// waits for ever, until it is set up again (lab/link/vf_settle.go).
func untilPacketsPass(t *testing.T, pods []*netns.Namespace) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	for {
		err := pods[0].Do(func() error { return exec.CommandContext(ctx, "ping", "-c", "2", "-W", "5", "10.7.0.2").Run() })
		if err == nil {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("no packets pass: %v", err)
		}
		for _, pod := range pods {
			handle, err := pod.Netlink()
			if err != nil {
				t.Fatal(err)
			}
			restart(t, handle)
			handle.Close()
		}
	}
}

func restart(t *testing.T, handle *netlink.Handle) {
	t.Helper()
	device, err := handle.LinkByName("fast0")
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range []func(netlink.Link) error{handle.LinkSetDown, handle.LinkSetUp} {
		if err := set(device); err != nil {
			t.Fatal(err)
		}
	}
}
