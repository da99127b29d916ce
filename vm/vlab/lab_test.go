package vlab

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/test/labtest"
)

// withCards are the boots whose kernel has the driver of the laboratory's cards.
var withCards = []string{
	labtest.BootMain, labtest.BootV1, labtest.BootIsolated, labtest.BootRT, labtest.BootNew, labtest.BootNewRT,
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// cards are the two igb, by their MAC addresses, up and with a carrier.
func cards(t *testing.T) (one, other netlink.Link) {
	t.Helper()
	find := func(mac string) netlink.Link {
		links, err := netlink.LinkList()
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(links, func(l netlink.Link) bool { return l.Attrs().HardwareAddr.String() == mac })
		if i < 0 {
			t.Fatalf("no card %s among %v", mac, links)
		}
		return links[i]
	}
	for i, mac := range []string{"52:54:00:00:01:00", "52:54:00:00:02:00"} {
		card := find(mac)
		if driver, _ := os.Readlink("/sys/class/net/" + card.Attrs().Name + "/device/driver"); filepath.Base(driver) != "igb" {
			t.Fatalf("the driver of %s is %s", card.Attrs().Name, driver)
		}
		if err := netlink.LinkSetUp(card); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			one = card
		} else {
			other = card
		}
	}
	for _, card := range []netlink.Link{one, other} {
		awaitCarrier(t, card.Attrs().Name)
	}
	return one, other
}

func awaitCarrier(t *testing.T, name string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if text, err := os.ReadFile("/sys/class/net/" + name + "/carrier"); err == nil && strings.TrimSpace(string(text)) == "1" {
			return
		}
	}
	t.Fatalf("%s has no carrier", name)
}

// testEtherType is unused otherwise: IEEE 802's for local experiments.
const testEtherType = 0x88b5

// packetSocket receives the test's frames on a device, and sends.
func packetSocket(t *testing.T, device netlink.Link) int {
	t.Helper()
	order := func(v uint16) uint16 { return v<<8 | v>>8 }
	socket, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(socket) })
	if err := unix.Bind(socket, &unix.SockaddrLinklayer{Protocol: order(testEtherType), Ifindex: device.Attrs().Index}); err != nil {
		t.Fatal(err)
	}
	if err := unix.SetsockoptTimeval(socket, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 10}); err != nil {
		t.Fatal(err)
	}
	return socket
}

// frameBetween makes a frame from one device to another with a text as payload.
func frameBetween(from, to netlink.Link, text string) []byte {
	frame := slices.Concat(to.Attrs().HardwareAddr, from.Attrs().HardwareAddr, []byte{testEtherType >> 8, testEtherType & 0xff}, []byte(text))
	return append(frame, make([]byte, max(0, 60-len(frame)))...)
}

// passes sends a frame with a text, which arrives.
func passes(t *testing.T, from, to netlink.Link, text string) {
	t.Helper()
	sender, receiver := packetSocket(t, from), packetSocket(t, to)
	frame := frameBetween(from, to, text)
	if _, err := unix.Write(sender, frame); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 2000)
	n, err := unix.Read(receiver, got)
	for errors.Is(err, unix.EINTR) { // Go's runtime signals its threads
		n, err = unix.Read(receiver, got)
	}
	if err != nil {
		t.Fatalf("no frame from %s to %s: %v", from.Attrs().Name, to.Attrs().Name, err)
	}
	if !bytes.Contains(got[:n], []byte(text)) {
		t.Errorf("sent %x, got %x", frame, got[:n])
	}
}

func TestLabCableCarriesFrames(t *testing.T) {
	labtest.EveryKernel(t, withCards...)
	one, other := cards(t)
	passes(t, one, other, "there")
	passes(t, other, one, "and back")
}

// A tagged frame arrives at the device of the same VLAN, and at no other.
func TestLabVLANDevices(t *testing.T) {
	labtest.EveryKernel(t, withCards...)
	one, other := cards(t)
	add := func(parent netlink.Link, id int) netlink.Link {
		vlan := &netlink.Vlan{LinkAttrs: netlink.LinkAttrs{Name: parent.Attrs().Name + "." + strconv.Itoa(id), ParentIndex: parent.Attrs().Index}, VlanId: id}
		if err := netlink.LinkAdd(vlan); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = netlink.LinkDel(vlan) })
		if err := netlink.LinkSetUp(vlan); err != nil {
			t.Fatal(err)
		}
		made, err := netlink.LinkByIndex(vlan.Index)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	a, b, wrong := add(one, 401), add(other, 401), add(other, 402)
	elsewhere := packetSocket(t, wrong)
	if err := unix.SetNonblock(elsewhere, true); err != nil {
		t.Fatal(err)
	}
	passes(t, a, b, "in a VLAN")
	if n, err := unix.Read(elsewhere, make([]byte, 2000)); err == nil {
		t.Errorf("%d bytes arrived in another VLAN", n)
	}
}

func TestLabHasTwoNUMANodes(t *testing.T) {
	labtest.VirtualLab(t)
	for path, want := range map[string]string{
		"/sys/devices/system/node/online":        "0-1",
		"/sys/devices/system/node/node0/cpulist": "0-1",
		"/sys/devices/system/node/node1/cpulist": "2-3",
	} {
		if got := read(t, path); got != want {
			t.Errorf("%s: %s, not %s", path, got, want)
		}
	}
	one, other := cards(t)
	for _, card := range []netlink.Link{one, other} {
		if got := read(t, "/sys/class/net/"+card.Attrs().Name+"/device/numa_node"); got != "1" {
			t.Errorf("%s is near node %s", card.Attrs().Name, got)
		}
	}
}

// Each card and each of its VFs has its own IOMMU group, so that it can be assigned alone.
// This depends on the machine and the release; igb takes seconds for its VFs.
func TestLabHasIOMMUGroups(t *testing.T) {
	labtest.EveryKernel(t, labtest.BootMain, labtest.BootNew)
	one, other := cards(t)
	var both sync.WaitGroup
	for _, card := range []netlink.Link{one, other} {
		both.Go(func() {
			device := "/sys/class/net/" + card.Attrs().Name + "/device"
			if err := os.WriteFile(device+"/sriov_numvfs", []byte("2"), 0); err != nil {
				t.Error(err)
				return
			}
			for _, function := range []string{"", "/virtfn0", "/virtfn1"} {
				members, err := os.ReadDir(device + function + "/iommu_group/devices")
				if err != nil || len(members) != 1 {
					t.Errorf("%s%s is in a group of %d: %v", card.Attrs().Name, function, len(members), err)
				}
			}
			if err := os.WriteFile(device+"/sriov_numvfs", []byte("0"), 0); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
}

func TestLabCgroupsAreAsChosen(t *testing.T) {
	labtest.EveryKernel(t, labtest.BootMain, labtest.BootV1, labtest.BootIsolated, labtest.BootCloud, labtest.BootRT, labtest.BootNew, labtest.BootNewRT)
	kind := func(path string) int64 {
		var stat unix.Statfs_t
		if err := unix.Statfs(path, &stat); err != nil {
			return 0
		}
		return stat.Type
	}
	version2, cpuset1, unified := kind("/sys/fs/cgroup") == unix.CGROUP2_SUPER_MAGIC,
		kind("/sys/fs/cgroup/cpuset") == unix.CGROUP_SUPER_MAGIC, kind("/sys/fs/cgroup/unified") == unix.CGROUP2_SUPER_MAGIC
	var want [3]bool
	switch os.Getenv(labtest.BootVariable) {
	case labtest.BootV1:
		want = [3]bool{false, true, false}
	case labtest.BootIsolated:
		want = [3]bool{false, true, true}
	default:
		want = [3]bool{true, false, false}
	}
	if got := [3]bool{version2, cpuset1, unified}; got != want {
		t.Errorf("version 2, cpuset of version 1, unified: %v, want %v", got, want)
	}
	if version2 && !slices.Contains(strings.Fields(read(t, "/sys/fs/cgroup/cgroup.subtree_control")), "cpuset") {
		t.Error("children of the root have no cpuset")
	}
}

// The kernel does with CPUs 2 and 3 what its parameters say.
func TestLabBootParametersAreInEffect(t *testing.T) {
	labtest.EveryKernel(t, labtest.BootIsolated, labtest.BootNewRT)
	for _, file := range []string{"isolated", "nohz_full"} {
		if got := read(t, "/sys/devices/system/cpu/"+file); got != "2-3" {
			t.Errorf("%s: %q", file, got)
		}
	}
	// rcu_nocbs: threads run the callbacks for these CPUs. They are named after the
	// flavour of RCU (rcu_spawn_cpu_nocb_kthread in kernel/rcu/tree_nocb.h).
	offloaded := map[string]bool{}
	names, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, path := range names {
		text, _ := os.ReadFile(path)
		if flavour, cpu, found := strings.Cut(strings.TrimSpace(string(text)), "/"); found && strings.HasPrefix(flavour, "rcuo") && flavour != "rcuog" {
			offloaded[cpu] = true
		}
	}
	if !offloaded["2"] || !offloaded["3"] {
		t.Errorf("callbacks of these CPUs are offloaded: %v", offloaded)
	}
	// isolcpus: by default processes run on the other CPUs.
	if status := read(t, "/proc/self/status"); !strings.Contains(status, "Cpus_allowed_list:\t0-1\n") {
		t.Errorf("this process may run elsewhere:\n%s", status)
	}
}

func TestLabRealTimeKernel(t *testing.T) {
	labtest.EveryKernel(t, labtest.BootRT, labtest.BootNewRT)
	if got := read(t, "/sys/kernel/realtime"); got != "1" {
		t.Errorf("/sys/kernel/realtime: %s", got)
	}
}

func TestLabCloudKernelHasNoCards(t *testing.T) {
	labtest.EveryKernel(t, labtest.BootCloud)
	if err := exec.Command("modprobe", "--dry-run", "igb").Run(); err == nil {
		t.Error("it has a driver for them: the documentation says otherwise")
	}
}
