package pci

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/boot"
	"nines.dev/nines/test/labtest"
)

const (
	port = "0000:01:00.0"
	vf0  = "0000:01:10.0"
)

// fakeBus is a machine with one port, in a folder: files stay as written, and nothing
// happens by itself.
func fakeBus(t *testing.T) Bus {
	t.Helper()
	b := Bus{Root: t.TempDir(), Patience: 2 * time.Second}
	for _, address := range []string{port, vf0} {
		put(t, b, "/sys/bus/pci/devices/"+address+"/class", "0x020000")
		put(t, b, "/sys/bus/pci/devices/"+address+"/driver_override", "(null)")
	}
	put(t, b, "/sys/bus/pci/devices/"+port+"/sriov_numvfs", "0")
	put(t, b, "/sys/bus/pci/drivers_probe", "")
	put(t, b, "/sys/bus/pci/drivers/vfio-pci/bind", "")
	return b
}

// have is what a bus says of a function.
func have[T any](t *testing.T, of func(address string) (T, error), address string) T {
	t.Helper()
	said, err := of(address)
	if err != nil {
		t.Fatal(err)
	}
	return said
}

func thisBoot(t *testing.T) string {
	t.Helper()
	id, err := boot.ID()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func put(t *testing.T, b Bus, path, text string) {
	t.Helper()
	path = filepath.Join(b.Root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, b Bus, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(b.Root, path))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// link makes a symbolic link as the kernel would.
func link(t *testing.T, b Bus, path, target string) {
	t.Helper()
	path = filepath.Join(b.Root, path)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Error(err)
	}
}

// TestClaims: a function belongs to one lab until that lab releases it; the folder is
// removed with the last claim.
func TestClaims(t *testing.T) {
	b := fakeBus(t)
	if err := b.claim(vf0, Claim{Lab: "one", Token: "1"}); err != nil {
		t.Fatal(err)
	}
	if err := b.claim(vf0, Claim{Lab: "one", Token: "1"}); err != nil {
		t.Errorf("again: %v", err)
	}
	if err := b.claim(vf0, Claim{Lab: "two", Token: "2"}); exit.Code(err) != exit.Lacks || !strings.Contains(err.Error(), "the lab one") {
		t.Errorf("another's: %v", err)
	}
	if err := b.Free(vf0, "2"); exit.Code(err) != exit.Lacks {
		t.Errorf("free for another: %v", err)
	}
	if err := b.Free(vf0, "1"); err != nil {
		t.Errorf("not free for its own: %v", err)
	}
	// Undoing a step of a lab that does not have the function changes nothing.
	if err := b.Release(context.Background(), vf0, "", "2", State{Override: "vfio-pci"}); err != nil || have(t, b.Override, vf0) != "" {
		t.Errorf("undone by another: %v, override %q", err, have(t, b.Override, vf0))
	}
	for range 2 {
		if err := b.Release(context.Background(), vf0, "", "1", State{}); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(b.claims()); !os.IsNotExist(err) {
		t.Errorf("the folder of claims is left: %v", err)
	}
	// Killed while writing: the function is free, and undo removes the file.
	put(t, b, ClaimsDir+"/"+vf0+".new", "{")
	if err := b.Release(context.Background(), vf0, "", "1", State{}); err != nil {
		t.Error(err)
	}
	put(t, b, ClaimsDir+"/"+usersName(port)+".new", "{")
	if err := b.LeavePort(context.Background(), port, "1", t.Logf); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(b.claims()); !os.IsNotExist(err) {
		t.Errorf("half a claim is left: %v", err)
	}
	// Of an earlier boot: void.
	if err := b.file(vf0).Write(Claim{Lab: "old", Token: "0", Boot: "earlier"}); err != nil {
		t.Fatal(err)
	}
	if err := b.claim(vf0, Claim{Lab: "two", Token: "2"}); err != nil {
		t.Errorf("a claim of an earlier boot: %v", err)
	}
}

// TestOverride: sysfs's "(null)" means none, and an empty line clears the override.
func TestOverride(t *testing.T) {
	b := fakeBus(t)
	if got := have(t, b.Override, vf0); got != "" {
		t.Errorf("override %q", got)
	}
	if err := b.SetOverride(vf0, DriverVFIO); err != nil || have(t, b.Override, vf0) != DriverVFIO {
		t.Errorf("override %q, %v", have(t, b.Override, vf0), err)
	}
	if err := os.Truncate(filepath.Join(b.device(vf0), "driver_override"), 0); err != nil {
		t.Fatal(err)
	}
	if err := b.SetOverride(vf0, ""); err != nil || have(t, b.Override, vf0) != "" {
		t.Errorf("override %q, %v", have(t, b.Override, vf0), err)
	}
}

// TestProbe: a driver that does not bind the function is bound by hand, and the result is
// an error; a function that is bound already is left unchanged.
func TestProbe(t *testing.T) {
	b := fakeBus(t)
	err := b.Probe(context.Background(), vf0, DriverVFIO)
	if err == nil || !strings.Contains(err.Error(), "find a driver for "+vf0) {
		t.Errorf("a driver that takes nothing: %v", err)
	}
	if get(t, b, "/sys/bus/pci/drivers_probe") != vf0 || get(t, b, "/sys/bus/pci/drivers/vfio-pci/bind") != vf0 {
		t.Error("it was not told")
	}
	link(t, b, "/sys/bus/pci/devices/"+vf0+"/driver", "../../drivers/igbvf")
	if err := b.Probe(context.Background(), vf0, ""); err != nil {
		t.Error(err)
	}
	if err := b.Probe(context.Background(), vf0, DriverVFIO); err == nil || !strings.Contains(err.Error(), "has the driver igbvf") {
		t.Errorf("a wrong driver: %v", err)
	}
}

// TestAwaitInterface: it returns when the kernel has made the interface and udev has named
// it, and an interface that never appears is an error.
func TestAwaitInterface(t *testing.T) {
	b := fakeBus(t)
	put(t, b, "/run/udev/control", "")
	go func() {
		time.Sleep(10 * time.Millisecond)
		put(t, b, "/sys/class/net/enp1s0v0/ifindex", "7")
		put(t, b, "/sys/bus/pci/devices/"+vf0+"/net/enp1s0v0/ifindex", "7")
		time.Sleep(10 * time.Millisecond)
		put(t, b, "/run/udev/data/n7", "I:1")
	}()
	name, err := b.AwaitInterface(context.Background(), vf0)
	if err != nil || name != "enp1s0v0" {
		t.Errorf("got %q, %v", name, err)
	}
	if _, err := os.Stat(filepath.Join(b.Root, "/run/udev/data/n7")); err != nil {
		t.Error("it was given away before udev had named it")
	}
	b.Patience = 20 * time.Millisecond
	if _, err := b.AwaitInterface(context.Background(), port); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), port) {
		t.Errorf("what never comes: %v", err)
	}
}

// TestSetVFs: the number of VFs is set by way of 0, and SetVFs waits for them.
func TestSetVFs(t *testing.T) {
	b := fakeBus(t)
	put(t, b, "/sys/bus/pci/devices/"+port+"/sriov_numvfs", "0")
	go func() {
		time.Sleep(10 * time.Millisecond)
		link(t, b, "/sys/bus/pci/devices/"+port+"/virtfn0", "../"+vf0)
	}()
	if err := b.setVFs(context.Background(), port, 0, 1); err != nil {
		t.Fatal(err)
	}
	if have(t, b.vfs, port) != 1 || b.VF(port, 0) != vf0 || b.VF(port, 1) != "" {
		t.Errorf("%d VFs, the first is %q", have(t, b.vfs, port), b.VF(port, 0))
	}
	b.Patience = 20 * time.Millisecond
	if err := b.setVFs(context.Background(), port, 1, 3); err == nil || !strings.Contains(err.Error(), "the 3 virtual functions") {
		t.Errorf("VFs that never come: %v", err)
	}
}

// TestLedger: a port is restored with its last user; an unknown user changes nothing.
func TestLedger(t *testing.T) {
	b := fakeBus(t)
	l := portUsers{Boot: thisBoot(t), Before: Port{}, Now: Port{VFs: 7, Up: true}, Users: []string{"one", "two"}}
	if err := b.file(usersName(port)).Write(l); err != nil {
		t.Fatal(err)
	}
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, format) }
	for _, step := range []struct {
		token string
		left  int
	}{{"three", 2}, {"one", 1}, {"one", 1}} {
		if err := b.LeavePort(context.Background(), port, step.token, note); err != nil {
			t.Fatal(err)
		}
		if now := have(t, b.users, port); len(now.Users) != step.left {
			t.Errorf("after %s has left: %+v", step.token, now)
		}
	}
	// The port has lost its interface to another driver: it stays unchanged, with a
	// note.
	if err := b.LeavePort(context.Background(), port, "two", note); err != nil || len(notes) != 1 {
		t.Errorf("the last: %v, %v", err, notes)
	}
	if left := have(t, b.users, port); left.Boot != "" {
		t.Error("the ledger is left")
	}
}

// TestPortAfterItsFunctions: while a lab's function cannot be restored its port stays in
// the journal too, so that a second undo of both removes the virtual functions.
func TestPortAfterItsFunctions(t *testing.T) {
	b := fakeBus(t)
	// Any interface will do: nothing of it is changed.
	put(t, b, "/sys/bus/pci/devices/"+port+"/net/lo/ifindex", "1")
	before, err := b.ReadPort(port)
	if err != nil {
		t.Fatal(err)
	}
	now := before
	now.VFs = 1
	put(t, b, "/sys/bus/pci/devices/"+port+"/sriov_totalvfs", "7")
	put(t, b, "/sys/bus/pci/devices/"+port+"/sriov_numvfs", "1")
	link(t, b, "/sys/bus/pci/devices/"+port+"/virtfn0", "../"+vf0)
	link(t, b, "/sys/bus/pci/devices/"+vf0+"/physfn", "../"+port)
	put(t, b, "/proc/sys/kernel/random/boot_id", thisBoot(t))
	joined := portUsers{Boot: thisBoot(t), Before: before, Now: now, Users: []string{"1:port"}}
	if err := b.file(usersName(port)).Write(joined); err != nil {
		t.Fatal(err)
	}
	if err := b.claim(vf0, Claim{Lab: "one", Token: "1:function"}); err != nil {
		t.Fatal(err)
	}
	leave := func(note func(string, ...any)) error { return b.LeavePort(context.Background(), port, "1:port", note) }
	if err := leave(t.Errorf); err == nil || !strings.Contains(err.Error(), "the lab one") {
		t.Errorf("left before its function: %v", err)
	}
	if err := b.Release(context.Background(), vf0, "", "1:function", State{}); err != nil {
		t.Fatal(err)
	}
	// Another lab has the function without having joined the port: it is that lab's,
	// and the lab goes.
	if err := b.claim(vf0, Claim{Lab: "two", Token: "12:function"}); err != nil {
		t.Fatal(err)
	}
	said := 0
	if err := leave(func(string, ...any) { said++ }); err != nil || said != 1 {
		t.Errorf("with another's function: %v, %d notes", err, said)
	}
	if err := b.Release(context.Background(), vf0, "", "12:function", State{}); err != nil {
		t.Fatal(err)
	}
	if n := get(t, b, "/sys/bus/pci/devices/"+port+"/sriov_numvfs"); n != "1" {
		t.Errorf("%s virtual functions while another has one", n)
	}
	if err := b.file(usersName(port)).Write(joined); err != nil {
		t.Fatal(err)
	}
	if err := leave(t.Errorf); err != nil {
		t.Error(err)
	}
	if n := get(t, b, "/sys/bus/pci/devices/"+port+"/sriov_numvfs"); n != "0" {
		t.Errorf("%s virtual functions are left", n)
	}
	if _, err := os.Stat(b.claims()); !os.IsNotExist(err) {
		t.Errorf("the folder of claims is left: %v", err)
	}
}

// TestWhatCannotBeReadIsNotForgotten: only what is certainly nobody's is given up without being restored.
func TestWhatCannotBeReadIsNotForgotten(t *testing.T) {
	b, ctx := fakeBus(t), context.Background()
	// Any interface will do: nothing of it is changed.
	put(t, b, "/sys/bus/pci/devices/"+port+"/net/lo/ifindex", "1")
	before, err := b.ReadPort(port)
	if err != nil {
		t.Fatal(err)
	}
	now := before
	now.VFs = 1
	put(t, b, "/sys/bus/pci/devices/"+port+"/sriov_totalvfs", "7")
	put(t, b, "/sys/bus/pci/devices/"+port+"/sriov_numvfs", "1")
	link(t, b, "/sys/bus/pci/devices/"+port+"/virtfn0", "../"+vf0)
	link(t, b, "/sys/bus/pci/devices/"+vf0+"/physfn", "../"+port)
	put(t, b, "/sys/bus/pci/devices/"+vf0+"/driver_override", DriverVFIO)
	err = errors.Join(
		b.claim(vf0, Claim{Lab: "one", Token: "1:function"}),
		b.file(usersName(port)).Write(portUsers{Boot: thisBoot(t), Before: before, Now: now, Users: []string{"1:port"}}))
	if err != nil {
		t.Fatal(err)
	}
	release := func() error { return b.Release(ctx, vf0, "", "1:function", State{}) }
	leave := func() error { return b.LeavePort(ctx, port, "1:port", t.Errorf) }
	undo := func(path string, undone func() error) {
		t.Helper()
		hidden := filepath.Join(b.Root, path)
		if err := errors.Join(os.Rename(hidden, hidden+".hidden"), os.Mkdir(hidden, 0o755)); err != nil {
			t.Fatal(err)
		}
		if err := undone(); err == nil {
			t.Errorf("undone without %s", path)
		}
		if err := errors.Join(os.Remove(hidden), os.Rename(hidden+".hidden", hidden)); err != nil {
			t.Fatal(err)
		}
	}
	undo(ClaimsDir+"/"+vf0, release)
	undo("/sys/bus/pci/devices/"+vf0+"/driver_override", release)
	driver := filepath.Join(b.Root, "/sys/bus/pci/devices", vf0, "driver")
	put(t, b, "/sys/bus/pci/devices/"+vf0+"/driver", "") // what is no link names no driver
	if err := release(); !errors.Is(err, unix.EINVAL) {
		t.Errorf("released without knowing its driver: %v", err)
	}
	if err := os.Remove(driver); err != nil {
		t.Fatal(err)
	}
	if got := have(t, b.Override, vf0); got != DriverVFIO {
		t.Errorf("override %q", got)
	}
	// A file keeps what it had behind the line end that clears an override.
	if err := release(); err != nil || have(t, b.Override, vf0) == DriverVFIO {
		t.Errorf("released: %v", err)
	}
	undo(ClaimsDir+"/"+usersName(port), leave)
	undo("/sys/bus/pci/devices/"+port+"/sriov_numvfs", leave)
	undo("/sys/bus/pci/devices/"+port+"/class", leave)
	if n := have(t, b.vfs, port); n != 1 {
		t.Errorf("%d virtual functions", n)
	}
	if err := leave(); err != nil || have(t, b.vfs, port) != 0 {
		t.Errorf("left: %v", err)
	}
	if _, err := os.Stat(b.claims()); !os.IsNotExist(err) {
		t.Errorf("the folder of claims is left: %v", err)
	}
}

// TestWhoUsesAFunctionIsNotGuessed: the functions of others are not removed when file descriptors run out.
func TestWhoUsesAFunctionIsNotGuessed(t *testing.T) {
	b := fakeBus(t)
	labtest.WithoutFiles(t, func() {
		tree := &carefulTree{busTree: b.busTree()}
		if list := ReadFunctions(tree); !errors.Is(tree.failed, unix.EMFILE) {
			t.Errorf("%v, %v", list, tree.failed)
		}
		if user, _, err := b.vfUser(port, "1:port", 0); !errors.Is(err, unix.EMFILE) {
			t.Errorf("used by %q, %v", user, err)
		}
	})
	tree := &carefulTree{busTree: b.busTree()}
	if list := ReadFunctions(tree); len(list) != 2 || tree.failed != nil {
		t.Errorf("%v, %v", list, tree.failed)
	}
}

// TestPortAndWhole: a port belongs to one lab as a whole, or to labs for its virtual
// functions, even before either has made more than its claim.
func TestPortAndWhole(t *testing.T) {
	b := fakeBus(t)
	if err := b.claim(port, Claim{Lab: "whole", Token: "1"}); err != nil {
		t.Fatal(err)
	}
	err := b.JoinPort(context.Background(), port, "2", Port{VFs: 7}, Port{})
	if exit.Code(err) != exit.Lacks || !strings.Contains(err.Error(), "the lab whole") {
		t.Errorf("joined a port that is another's: %v", err)
	}
	// A refused step is undone without a trace and without harm to the other lab.
	if err := b.LeavePort(context.Background(), port, "2", t.Errorf); err != nil {
		t.Error(err)
	}
	if n := get(t, b, "/sys/bus/pci/devices/"+port+"/sriov_numvfs"); n != "0" || have(t, b.claimed, port) == nil {
		t.Errorf("%s virtual functions, claim %v", n, have(t, b.claimed, port))
	}
	if err := b.Release(context.Background(), port, "", "1", State{}); err != nil {
		t.Fatal(err)
	}
	l := portUsers{Boot: thisBoot(t), Users: []string{"2"}}
	if err := b.file(usersName(port)).Write(l); err != nil {
		t.Fatal(err)
	}
	if err := b.Free(port, "1"); exit.Code(err) != exit.Lacks {
		t.Errorf("a port that is joined is free as a whole: %v", err)
	}
	// The same lab may change from one to the other.
	if err := b.Free(port, "2:function"); err != nil {
		t.Errorf("not free for who joined it: %v", err)
	}
	l.Boot = "earlier"
	if err := b.file(usersName(port)).Write(l); err != nil {
		t.Fatal(err)
	}
	if err := b.Free(port, "1"); err != nil {
		t.Errorf("joined before the last boot: %v", err)
	}
}

// TestLock: a second holder waits for the first, or until its context ends.
func TestLock(t *testing.T) {
	b := fakeBus(t)
	unlock, err := b.Lock(t.Context(), port)
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan struct{})
	go func() {
		again, err := b.Lock(t.Context(), port)
		if err != nil {
			t.Error(err)
		}
		close(got)
		again()
	}()
	select {
	case <-got:
		t.Error("two have the lock")
	case <-time.After(30 * time.Millisecond):
	}
	canceled, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := b.Lock(canceled, port); !errors.Is(err, context.Canceled) {
		t.Errorf("the wait was not ended: %v", err)
	}
	unlock()
	<-got
	if unlock, err = b.Lock(t.Context(), "0000:99:00.0"); err != nil {
		t.Errorf("a function that is gone: %v", err)
	} else {
		unlock()
	}
}

// TestSysctlsOfAnInterfaceComeBack: those that differ from before and can be set are
// restored.
func TestSysctlsOfAnInterfaceComeBack(t *testing.T) {
	b := fakeBus(t)
	const conf, neigh = "/proc/sys/net/ipv4/conf/eth9/", "/proc/sys/net/ipv6/neigh/eth9/"
	put(t, b, conf+"arp_ignore", "1")
	put(t, b, conf+"rp_filter", "2")
	put(t, b, neigh+"gc_stale_time", "77")
	put(t, b, "/proc/sys/net/ipv4/conf/other/arp_ignore", "5")
	had := b.sysctls("eth9")
	if len(had) != 3 || had["ipv6/neigh/gc_stale_time"] != "77" {
		t.Fatalf("it has %v", had)
	}
	// It was elsewhere, and the kernel has recreated its settings; one no longer
	// exists.
	put(t, b, conf+"arp_ignore", "0")
	put(t, b, neigh+"gc_stale_time", "60")
	if err := os.Remove(filepath.Join(b.Root, conf+"rp_filter")); err != nil {
		t.Fatal(err)
	}
	if err := b.restoreSysctls("eth9", had); err != nil {
		t.Fatal(err)
	}
	if a, n := get(t, b, conf+"arp_ignore"), get(t, b, neigh+"gc_stale_time"); a != "1" || n != "77" {
		t.Errorf("arp_ignore is %s, gc_stale_time %s", a, n)
	}
	if _, err := os.Stat(filepath.Join(b.Root, conf+"rp_filter")); err == nil {
		t.Error("a setting that the kernel has no more was made")
	}
	labtest.WithoutFiles(t, func() {
		if err := b.restoreSysctls("eth9", had); !errors.Is(err, unix.EMFILE) {
			t.Errorf("settings that could not be read count as restored: %v", err)
		}
	})
}

func TestAnInterfaceIsOfTheFunctionNearestToIt(t *testing.T) {
	b := fakeBus(t)
	for name, target := range map[string]string{
		"eth0": "../../devices/pci0000:00/0000:00:03.0/" + port + "/net/eth0",
		"eth1": "../../devices/pci0000:00/0000:00:04.0/virtio2/net/eth1",
		"br0":  "../../devices/virtual/net/br0",
	} {
		link(t, b, netRoot+"/"+name, target)
	}
	for name, want := range map[string]string{"eth0": port, "eth1": "0000:00:04.0", "br0": "", "eth9": ""} {
		if got := b.AddressOf(name); got != want {
			t.Errorf("%s is of %q, not %q", name, got, want)
		}
	}
}
