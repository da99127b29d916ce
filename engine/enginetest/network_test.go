package enginetest

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/test/labtest"
)

// network is the network of each test, in its own two namespaces:
//
//	generator                     device under test
//	+----------------------+      +----------------------+
//	| tx   198.18.0.1/24 --+------+-- in  198.18.0.2/24  |
//	| rx   198.18.1.1/24 --+------+-- out 198.18.1.2/24  |
//	+----------------------+      +----------------------+
//
// A direct test has only tx and rx, connected to each other, in one namespace.
type network struct {
	t              *testing.T
	generator, dut string
}

var macs = map[string]string{
	"tx": "02:00:00:00:00:01", "in": "02:00:00:00:00:02",
	"out": "02:00:00:00:00:03", "rx": "02:00:00:00:00:04",
	"idle": "02:00:00:00:00:05", "spare": "02:00:00:00:00:06",
	"tx-b": "02:00:00:00:00:07", "in-b": "02:00:00:00:00:08",
	"out-b": "02:00:00:00:00:09", "rx-b": "02:00:00:00:00:0a",
}

var addresses = map[string]string{
	"tx": "198.18.0.1", "in": "198.18.0.2", "out": "198.18.1.2", "rx": "198.18.1.1",
	"idle": "198.18.2.1", "spare": "198.18.2.2",
	"tx-b": "198.18.3.1", "in-b": "198.18.3.2",
	"out-b": "198.18.4.2", "rx-b": "198.18.4.1",
}

var serial atomic.Int64

func ip(t *testing.T, line string) {
	t.Helper()
	if out, err := exec.Command("ip", strings.Fields(line)...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v: %s", line, err, out)
	}
}

func namespace(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("nxt%d-%d", os.Getpid(), serial.Add(1))
	ip(t, "netns add "+name)
	t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", name).Run() })
	// No neighbour discovery: only the test's packets are on the wire. The sender's address is
	// also the receiver's host's, and a UDP socket only receives such packets with
	// accept_local.
	out, err := exec.Command("ip", "netns", "exec", name, "sysctl", "-qw",
		"net.ipv6.conf.default.disable_ipv6=1", "net.ipv4.conf.all.rp_filter=0",
		"net.ipv4.conf.default.rp_filter=0", "net.ipv4.conf.all.accept_local=1").CombinedOutput()
	if err != nil {
		t.Fatalf("sysctl in %s: %v: %s", name, err, out)
	}
	return name
}

func veth(t *testing.T, nsA, a, nsB, b string, mtu int) {
	t.Helper()
	ip(t, fmt.Sprintf("link add name %s netns %s mtu %d address %s type veth peer name %s netns %s mtu %d address %s",
		a, nsA, mtu, macs[a], b, nsB, mtu, macs[b]))
	for _, end := range [][2]string{{nsA, a}, {nsB, b}} {
		ip(t, fmt.Sprintf("-n %s addr add %s/24 dev %s", end[0], addresses[end[1]], end[1]))
		ip(t, fmt.Sprintf("-n %s link set dev %s up", end[0], end[1]))
	}
	operational(t, nsA, a)
	operational(t, nsB, b)
}

// operational waits until the kernel has given a device its queues, which a worker does after the carrier came; until
// then packets are dropped, and no counter says so (noop_qdisc in net/sched/sch_generic.c).
func operational(t *testing.T, ns, device string) {
	t.Helper()
	for range 3000 {
		out, err := exec.Command("ip", "-n", ns, "link", "show", "dev", device).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if strings.Contains(string(out), " state UP ") {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("%s is not operational after 30 s", device)
}

func neighbour(t *testing.T, ns, device, peer string) {
	t.Helper()
	ip(t, fmt.Sprintf("-n %s neigh replace %s lladdr %s dev %s", ns, addresses[peer], macs[peer], device))
}

// throughDUT makes the network in the drawing above.
func throughDUT(t *testing.T, mtu int) network {
	t.Helper()
	labtest.Require(t, "root, for network namespaces", os.Geteuid() == 0)
	n := network{t: t, generator: namespace(t), dut: namespace(t)}
	veth(t, n.generator, "tx", n.dut, "in", mtu)
	veth(t, n.generator, "rx", n.dut, "out", mtu)
	neighbour(t, n.generator, "tx", "in")
	neighbour(t, n.dut, "in", "tx")
	neighbour(t, n.dut, "out", "rx")
	return n
}

// feature switches an offload of a device. A sender only segments bursts itself if its device has
// tx-udp-segmentation off.
func feature(t *testing.T, ns, device, name, value string) {
	t.Helper()
	out, err := exec.Command("ip", "netns", "exec", ns, "ethtool", "-K", device, name, value).CombinedOutput()
	if err != nil {
		t.Fatalf("ethtool -K %s %s %s in %s: %v: %s", device, name, value, ns, err, out)
	}
}

// direct connects tx to rx.
func direct(t *testing.T, mtu int) network {
	t.Helper()
	labtest.Require(t, "root, for network namespaces", os.Geteuid() == 0)
	n := network{t: t, generator: namespace(t)}
	veth(t, n.generator, "tx", n.generator, "rx", mtu)
	neighbour(t, n.generator, "tx", "rx")
	return n
}

// startEngine runs an engine in a namespace until the test ends.
func startEngine(t *testing.T, ns string) *client.Client {
	t.Helper()
	engine := labtest.StartEngine(t, ns)
	if _, err := engine.Hello(); err != nil {
		t.Fatal(err)
	}
	return engine.Client
}
