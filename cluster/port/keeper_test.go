package port

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/folder"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// A node in a namespace of its own, so that nothing of the host is touched:
//
//	┌ node ───────────────────────┐     ┌ pod ─┐
//	│ card ══ peer  br  tunnel    │     │ net1 │
//	│  └ macvlan ─────────────────┼─────┤      │
//	└─────────────────────────────┘     └──────┘
type machine struct {
	t *testing.T
	Keeper
	ns    *netns.Namespace
	notes []string
	// bare are the node's devices while it has no port.
	bare string
}

func newMachine(t *testing.T) *machine {
	t.Helper()
	labtest.Require(t, "root", os.Geteuid() == 0)
	n := &machine{t: t, ns: namespace(t)}
	n.Folder = filepath.Join(t.TempDir(), "ports")
	n.Note = func(note string) { n.notes = append(n.notes, note) }
	n.do(func() error {
		card := netlink.NewLinkAttrs()
		card.Name, card.MTU = "card", 1400
		bridge := netlink.NewLinkAttrs()
		bridge.Name = "br"
		tunnel := netlink.NewLinkAttrs()
		tunnel.Name, tunnel.MTU = "tunnel", 1400
		err := errors.Join(netlink.LinkAdd(&netlink.Veth{LinkAttrs: card, PeerName: "peer"}), netlink.LinkAdd(&netlink.Bridge{LinkAttrs: bridge}),
			netlink.LinkAdd(&netlink.Vxlan{LinkAttrs: tunnel, VxlanId: 42, Port: 4789}))
		if err != nil {
			return err
		}
		for _, name := range []string{"card", "peer", "br", "tunnel"} {
			device, err := netlink.LinkByName(name)
			if err == nil {
				err = netlink.LinkSetUp(device)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	n.bare = devices(t, n.ns)
	return n
}

func namespace(t *testing.T) *netns.Namespace {
	t.Helper()
	ns, err := netns.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ns.Close() })
	return ns
}

// do runs f on the node.
func (n *machine) do(f func() error) {
	n.t.Helper()
	if err := n.ns.Do(f); err != nil {
		n.t.Fatal(err)
	}
}

// path is where another process finds a namespace that this one has open.
func path(ns *netns.Namespace) string { return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), ns.FD()) }

func (n *machine) order(holder, port string) Order { return testOrder(holder, port) }

func testOrder(holder, port string) Order {
	return Order{
		Holder: holder, Pod: Pod{Namespace: "default", Name: holder, UID: holder}, Interface: "net1",
		Port:      Port{Name: port, Tier: spec.LinkMacvlan, Parent: "card"},
		Addresses: []netip.Prefix{netip.MustParsePrefix("10.7.0.5/24"), netip.MustParsePrefix("fd00::5/64")},
		Routes:    []Route{{To: netip.MustParsePrefix("10.8.0.0/16"), Via: netip.MustParseAddr("10.7.0.1")}, {To: netip.MustParsePrefix("10.9.0.0/16")}},
	}
}

func (n *machine) take(o Order) Held {
	n.t.Helper()
	var held Held
	n.do(func() (err error) { held, err = n.Take(context.Background(), o); return err })
	return held
}

func (n *machine) attach(o Order, pod *netns.Namespace) Held {
	n.t.Helper()
	var held Held
	n.do(func() (err error) {
		held, err = n.Attach(context.Background(), o.Holder, o.Port.Name, path(pod))
		return err
	})
	return held
}

func (n *machine) giveBack(holder string) {
	n.t.Helper()
	n.do(func() error { return n.GiveBack(context.Background(), holder) })
}

// devices are the names of a namespace's devices, but for lo.
func devices(t *testing.T, ns *netns.Namespace) string {
	t.Helper()
	handle, err := ns.Netlink()
	if err != nil {
		t.Fatal(err)
	}
	defer handle.Close()
	all, err := handle.LinkList()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, d := range all {
		if name := d.Attrs().Name; name != "lo" {
			names = append(names, name+" "+d.Type())
		}
	}
	return strings.Join(names, ", ")
}

// empty fails if anything is left on the node.
func (n *machine) empty() {
	n.t.Helper()
	if left := devices(n.t, n.ns); left != n.bare {
		n.t.Errorf("the node has %s", left)
	}
	if left, err := os.ReadDir(n.Folder); err != nil || len(left) > 0 {
		n.t.Errorf("in the ports' folder: %v, %v", left, err)
	}
	if len(n.notes) > 0 {
		n.t.Errorf("said: %q", n.notes)
	}
}

func TestAPortIsTakenAttachedAndGivenBack(t *testing.T) {
	for _, p := range []Port{
		{Name: "m-1", Tier: spec.LinkMacvlan, Parent: "card"},
		{Name: "v-1", Tier: spec.LinkVXLAN, Parent: "tunnel"},
		{Name: "b-1", Tier: spec.LinkBridge, Parent: "br", MTU: 1300},
		{Name: "x-1", Tier: spec.LinkXDP, Parent: "fast", MTU: 3000},
	} {
		t.Run(string(p.Tier), func(t *testing.T) {
			n, pod := newMachine(t), namespace(t)
			o := n.order("claim", p.Name)
			o.Port = p
			n.take(o)
			if again := n.take(o); !again.Done || again.Holder != "claim" {
				t.Errorf("taken again: %+v", again)
			}
			held := n.attach(o, pod)
			before := devices(t, pod)
			if again := n.attach(o, pod); again.Size != held.Size || devices(t, pod) != before || !strings.HasPrefix(before, "net1 ") {
				t.Errorf("attached again: %+v, then %+v; the pod has %s, then %s", held, again, before, devices(t, pod))
			}
			if err := pod.Do(func() error { return looksLike(held, o) }); err != nil {
				t.Error(err)
			}
			n.do(func() error { return n.Check("claim", p.Name, path(pod)) })
			n.giveBack("claim")
			n.giveBack("claim")
			if left := devices(t, pod); left != "" {
				t.Errorf("the pod still has %s", left)
			}
			n.empty()
		})
	}
}

// TestAParentOfAnotherTypeIsRefused has ports of a bridge and of a VXLAN device that are neither.
func TestAParentOfAnotherTypeIsRefused(t *testing.T) {
	for _, p := range []Port{{Name: "b-1", Tier: spec.LinkBridge, Parent: "card"}, {Name: "v-1", Tier: spec.LinkVXLAN, Parent: "br"}} {
		n, pod := newMachine(t), namespace(t)
		o := n.order("claim", p.Name)
		o.Port = p
		n.take(o)
		n.do(func() error {
			_, err := n.Attach(context.Background(), "claim", p.Name, path(pod))
			if err == nil || !strings.Contains(err.Error(), p.Parent+" is a ") {
				t.Errorf("%s on %s: %v", p.Tier, p.Parent, err)
			}
			return nil
		})
		n.giveBack("claim")
		if left := devices(t, pod); left != "" {
			t.Errorf("the pod has %s", left)
		}
		n.empty()
	}
}

// looksLike checks a pod's interface from within.
func looksLike(held Held, o Order) error {
	device, err := netlink.LinkByName("net1")
	if err != nil {
		return err
	}
	var failures []error
	mtu := 1400
	if o.Port.MTU != 0 {
		mtu = o.Port.MTU
	}
	if a := device.Attrs(); a.HardwareAddr.String() != held.MAC || a.MTU != mtu || held.Size != mtu || a.Flags&1 == 0 {
		failures = append(failures, fmt.Errorf("net1 is %+v, and the record %+v", a, held))
	}
	addresses, err := netlink.AddrList(device, netlink.FAMILY_ALL)
	failures = append(failures, err)
	for _, want := range o.Addresses {
		found := false
		for _, a := range addresses {
			found = found || a.IPNet.String() == want.String()
		}
		if !found {
			failures = append(failures, fmt.Errorf("no address %s among %v", want, addresses))
		}
	}
	routes, err := netlink.RouteList(device, netlink.FAMILY_V4)
	failures = append(failures, err)
	for _, want := range o.Routes {
		found := false
		for _, r := range routes {
			found = found || r.Dst != nil && r.Dst.String() == want.To.String() && (!want.Via.IsValid() || r.Gw.String() == want.Via.String())
		}
		if !found {
			failures = append(failures, fmt.Errorf("no route to %s among %v", want.To, routes))
		}
	}
	return errors.Join(failures...)
}

func TestAPortIsOfOneHolder(t *testing.T) {
	labtest.Guarantee(t)
	n := newMachine(t)
	n.take(n.order("first", "m-1"))
	n.do(func() error {
		_, err := n.Take(context.Background(), n.order("second", "m-1"))
		var taken *TakenError
		if !errors.As(err, &taken) || taken.By.Holder != "first" {
			t.Errorf("taken twice: %v", err)
		}
		if _, err := n.Attach(context.Background(), "second", "m-1", path(namespace(t))); !errors.As(err, new(*NotHeldError)) {
			t.Errorf("attached by who does not hold it: %v", err)
		}
		return nil
	})
	n.giveBack("second")
	if all, err := n.Held(); err != nil || len(all) != 1 || all[0].Holder != "first" {
		t.Errorf("held: %+v, %v", all, err)
	}
	n.giveBack("first")
	n.take(n.order("second", "m-1"))
	n.giveBack("second")
	n.empty()
}

// TestManyTakeTheSamePort has as many holders as can be want one port at the same time: one gets it.
func TestManyTakeTheSamePort(t *testing.T) {
	labtest.Guarantee(t)
	n := newMachine(t)
	for range 20 {
		var all sync.WaitGroup
		got := make(chan string, 8)
		for i := range cap(got) {
			all.Go(func() {
				holder := fmt.Sprint("h", i)
				switch _, err := n.Take(context.Background(), n.order(holder, "m-1")); {
				case err == nil:
					got <- holder
				case !errors.As(err, new(*TakenError)):
					t.Errorf("%s: %v", holder, err)
				}
			})
		}
		all.Wait()
		if len(got) != 1 {
			t.Fatalf("%d have it", len(got))
		}
		n.giveBack(<-got)
	}
	n.empty()
}

// TestAPodThatIsMadeAnewGetsItsPortAgain: its old namespace may still be there, or be gone.
func TestAPodThatIsMadeAnewGetsItsPortAgain(t *testing.T) {
	n, first := newMachine(t), namespace(t)
	o := n.order("claim", "m-1")
	n.take(o)
	n.attach(o, first)
	second := namespace(t)
	n.attach(o, second)
	if devices(t, first) != "" || devices(t, second) != "net1 macvlan" {
		t.Errorf("the first has %q, the second %q", devices(t, first), devices(t, second))
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	third := namespace(t)
	n.attach(o, third)
	if devices(t, third) != "net1 macvlan" {
		t.Errorf("the third has %q", devices(t, third))
	}
	n.giveBack("claim")
	n.empty()
}

// TestAPodMayRenameItsDevice, and give it another MAC address: it is ours all the same. What it made
// under the old name is not.
func TestAPodMayRenameItsDevice(t *testing.T) {
	n, pod := newMachine(t), namespace(t)
	o := n.order("claim", "m-1")
	n.take(o)
	n.attach(o, pod)
	err := pod.Do(func() error {
		device, err := netlink.LinkByName("net1")
		if err != nil {
			return err
		}
		theirs := netlink.NewLinkAttrs()
		theirs.Name = "net1"
		return errors.Join(netlink.LinkSetDown(device), netlink.LinkSetName(device, "mine"),
			netlink.LinkSetHardwareAddr(device, []byte{2, 0, 0, 0, 0, 1}),
			netlink.LinkAdd(&netlink.Bridge{LinkAttrs: theirs}))
	})
	if err != nil {
		t.Fatal(err)
	}
	n.giveBack("claim")
	if left := devices(t, pod); left != "net1 bridge" {
		t.Errorf("left: %s", left)
	}
	n.empty()
}

func TestAnInterfaceOfThePodsOwnStays(t *testing.T) {
	n, pod := newMachine(t), namespace(t)
	err := pod.Do(func() error {
		theirs := netlink.NewLinkAttrs()
		theirs.Name = "net1"
		return netlink.LinkAdd(&netlink.Bridge{LinkAttrs: theirs})
	})
	if err != nil {
		t.Fatal(err)
	}
	o := n.order("claim", "m-1")
	n.take(o)
	n.do(func() error {
		if _, err := n.Attach(context.Background(), "claim", "m-1", path(pod)); err == nil || !strings.Contains(err.Error(), "already") {
			t.Errorf("attached: %v", err)
		}
		return nil
	})
	if left := devices(t, pod); left != "net1 bridge" {
		t.Errorf("left: %s", left)
	}
	n.giveBack("claim")
	n.empty()
}

// TestWhatAKilledCallLeftIsMadeAgain ends calls after each of their writes, as kill -9 would: the
// journal has an intent and no more, or the device is there and the record does not say so.
func TestWhatAKilledCallLeftIsMadeAgain(t *testing.T) {
	labtest.Guarantee(t)
	n, pod := newMachine(t), namespace(t)
	o := n.order("claim", "m-1")
	for what, kill := range map[string]func() error{
		"the folder only": func() error { return os.MkdirAll(filepath.Join(n.Folder, "card", "m-1"), 0o700) },
		"the journal only": func() error {
			held, err := folder.Begin(n.place("card", "m-1"))
			if err != nil {
				return err
			}
			return held.Close()
		},
		"a record that is not done": func() error {
			held, err := folder.Begin(n.place("card", "m-1"))
			if err != nil {
				return err
			}
			return errors.Join(n.write(Held{Order: o}), held.Close())
		},
		"a device that was not noted": func() error {
			n.take(o)
			held, err := folder.Take(n.place("card", "m-1"))
			if err != nil {
				return err
			}
			s := n.site(o, held.Journal)
			s.MAC = madeMAC(o.Holder, o.Port.Name)
			if _, err = addMacvlan(t.Context(), s, podAt(t, pod)); err != nil {
				return err
			}
			return forgetLearnt(held)
		},
	} {
		t.Run(what, func(t *testing.T) {
			n.do(kill)
			n.do(func() error { return n.Sweep(context.Background()) })
			n.take(o)
			n.attach(o, pod)
			if has := devices(t, pod); has != "net1 macvlan" {
				t.Errorf("the pod has %q", has)
			}
			n.giveBack("claim")
			if left := devices(t, pod); left != "" {
				t.Errorf("the pod still has %s", left)
			}
			n.empty()
		})
	}
}

// podAt opens a pod's namespace by a path that others find it by.
func podAt(t *testing.T, pod *netns.Namespace) *netns.Namespace {
	t.Helper()
	ns, err := netns.Open(path(pod))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ns.Close() })
	return ns
}

// forgetLearnt cuts the last line off a journal: what was learnt of the last step.
func forgetLearnt(held *folder.Held) error {
	path := held.Journal.Path()
	if err := held.Close(); err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	lines := strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n")
	return os.WriteFile(path, []byte(strings.Join(lines[:len(lines)-1], "")), 0o600)
}

// TestAnEarlierBootsPortsAreFree: nothing of them is there but files.
func TestAnEarlierBootsPortsAreFree(t *testing.T) {
	n := newMachine(t)
	n.take(n.order("claim", "m-1"))
	path := n.place("card", "m-1").Journal()
	j, err := journal.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(strings.ReplaceAll(labtest.PlainJournal(string(text)), j.Header.BootID, "another")), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	n.take(n.order("other", "m-1"))
	n.giveBack("other")
	n.empty()
}

// TestARecordThatCannotBeReadIsOfSomebody: it is not taken for what a killed call has left.
func TestARecordThatCannotBeReadIsOfSomebody(t *testing.T) {
	n, pod := newMachine(t), namespace(t)
	o := n.order("claim", "m-1")
	n.take(o)
	n.attach(o, pod)
	record := filepath.Join(n.Folder, "card", "m-1", recordName)
	text, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	for _, spoil := range []func() error{
		func() error { return os.WriteFile(record, []byte("{"), 0o600) },
		func() error { return errors.Join(os.Remove(record), os.Mkdir(record, 0o700)) },
	} {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		n.do(func() error {
			if _, err := n.Take(context.Background(), n.order("other", "m-1")); err == nil || !strings.Contains(err.Error(), record) {
				t.Errorf("taken: %v", err)
			}
			if err := n.Sweep(context.Background()); err == nil || !strings.Contains(err.Error(), record) {
				t.Errorf("swept: %v", err)
			}
			return nil
		})
		if has := devices(t, pod); has != "net1 macvlan" {
			t.Fatalf("the pod has %q", has)
		}
	}
	if err := errors.Join(os.Remove(record), os.WriteFile(record, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	n.giveBack("claim")
	n.empty()
}

// TestWhatCannotBeReadIsHeld: without a free file descriptor the list of who holds ports is not empty.
func TestWhatCannotBeReadIsHeld(t *testing.T) {
	k := Keeper{Folder: t.TempDir()}
	if err := os.MkdirAll(filepath.Join(k.Folder, "card", "p0"), 0o700); err != nil {
		t.Fatal(err)
	}
	labtest.WithoutFiles(t, func() {
		if held, err := k.Held(); !errors.Is(err, unix.EMFILE) {
			t.Errorf("%v, %v", held, err)
		}
		if err := k.GiveBack(t.Context(), "pod"); !errors.Is(err, unix.EMFILE) {
			t.Errorf("given back: %v", err)
		}
	})
	if held, err := k.Held(); err != nil || len(held) > 0 {
		t.Errorf("%v, %v", held, err)
	}
}
