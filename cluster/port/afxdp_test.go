package port

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/spec"
	"nines.dev/nines/test/labtest"
)

// socketPod makes a pod with a port for AF_XDP sockets.
func (n *machine) socketPod(tier spec.LinkKind, parent, name string, number int) joinedPod {
	n.t.Helper()
	pod := n.podWith(Port{Tier: tier, Parent: parent, AFXDP: true}, name, number)
	n.t.Cleanup(func() { _ = unix.Unmount(n.mapsFolder(pod.held.Port), unix.MNT_DETACH) }) // where a test has failed
	return pod
}

// pollIn runs an engine in a pod as a container's process that may open raw sockets and lock memory, and do nothing
// else. It opens the pod's port by the map.
func (n *machine) pollIn(pod, peer joinedPod, name string) *labtest.Engine {
	n.t.Helper()
	var e *labtest.Engine
	if err := pod.Do(func() error {
		e = labtest.RunEngine(n.t, exec.Command("setpriv", "--bounding-set=-all,+net_raw,+ipc_lock", "--no-new-privs", engine(n.t)))
		return nil
	}); err != nil {
		n.t.Fatal(err)
	}
	opened, err := e.Open(client.Port{
		Name: name, Backend: "xdp", Interface: pod.held.Interface, Map: filepath.Join(n.MapFolder(pod.held.Port), socketMap),
		FrameBytes: 64, Flows: 1, UDPPort: 7999, LocalMAC: pod.held.MAC, LocalIP: pod.address.String(), PeerMAC: peer.held.MAC, PeerIP: peer.address.String(),
	})
	if err != nil {
		n.t.Fatal(err)
	}
	if !strings.HasPrefix(opened.Mode, "map") {
		n.t.Errorf("the port's mode is %q", opened.Mode)
	}
	return e
}

// TestPodsReceiveByAFXDP: their programs may load no BPF programs. Until they open a socket, the kernel receives.
func TestPodsReceiveByAFXDP(t *testing.T) {
	for _, on := range []struct {
		tier   spec.LinkKind
		parent string
	}{{spec.LinkMacvlan, "card"}, {spec.LinkBridge, "br"}, {spec.LinkXDP, "fast"}, {spec.LinkVXLAN, "tunnel"}} {
		t.Run(string(on.tier), func(t *testing.T) {
			n := newMachine(t)
			a, b := n.socketPod(on.tier, on.parent, "a", 1), n.socketPod(on.tier, on.parent, "b", 2)
			if !heard(t, a, b, long) {
				t.Error("the kernel does not receive")
			}
			if sent, got := labtest.OneWay(t, n.pollIn(a, b, "tx").Client, n.pollIn(b, a, "rx").Client); sent == 0 || got != sent {
				t.Errorf("%d of %d packets arrived", got, sent)
			}
			for _, holder := range []string{"a", "b"} {
				n.giveBack(holder)
			}
			n.empty()
		})
	}
}

// TestAMapGoesWithItsPort: a pod that starts again gets a new map, for its new device.
func TestAMapGoesWithItsPort(t *testing.T) {
	n := newMachine(t)
	a := n.socketPod(spec.LinkMacvlan, "card", "a", 1)
	path := filepath.Join(n.MapFolder(a.held.Port), socketMap)
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	n.attach(a.held.Order, namespace(t))
	after, err := os.Stat(path)
	if err != nil || os.SameFile(before, after) {
		t.Errorf("the map is the old one, or %v", err)
	}
	n.giveBack("a")
	if _, err := os.Stat(n.mapsFolder(a.held.Port)); !os.IsNotExist(err) {
		t.Errorf("its folder: %v", err)
	}
	n.empty()
}

// TestWhatIsPutInPlaceOfAMapStays: nines unmounts only what it has mounted, and removes nothing in its place.
func TestWhatIsPutInPlaceOfAMapStays(t *testing.T) {
	n := newMachine(t)
	a := n.socketPod(spec.LinkMacvlan, "card", "a", 1)
	folder := n.mapsFolder(a.held.Port)
	if err := unix.Unmount(folder, unix.MNT_DETACH); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(n.MapFolder(a.held.Port), 0o700), os.WriteFile(filepath.Join(n.MapFolder(a.held.Port), socketMap), []byte("foreign"), 0o600)); err != nil {
		t.Fatal(err)
	}
	err := n.ns.Do(func() error { return n.Sweep(t.Context()) })
	if err == nil || !strings.Contains(err.Error(), "delete the pods that have the port") {
		t.Errorf("a sweep says %v", err)
	}
	err = n.ns.Do(func() error {
		_, err := n.Attach(t.Context(), "a", a.held.Port.Name, path(namespace(t)))
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "another program has unmounted") {
		t.Errorf("attached again: %v", err)
	}
	_ = n.ns.Do(func() error { return n.GiveBack(t.Context(), "a") })
	if text, err := os.ReadFile(filepath.Join(n.MapFolder(a.held.Port), socketMap)); err != nil || string(text) != "foreign" {
		t.Errorf("the foreign file is %q, %v", text, err)
	}
}
