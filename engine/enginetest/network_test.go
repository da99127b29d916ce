package enginetest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"nines.dev/nines/engine/client"
)

// The network of each test, in two namespaces that only it knows:
//
//	generator                     device under test
//	+----------------------+      +----------------------+
//	| tx   198.18.0.1/24 --+------+-- in  198.18.0.2/24  |
//	| rx   198.18.1.1/24 --+------+-- out 198.18.1.2/24  |
//	+----------------------+      +----------------------+
//
// A direct test has only tx and rx, joined to each other, in one namespace.
type network struct {
	t              *testing.T
	generator, dut string
}

var macs = map[string]string{
	"tx": "02:00:00:00:00:01", "in": "02:00:00:00:00:02",
	"out": "02:00:00:00:00:03", "rx": "02:00:00:00:00:04",
	"idle": "02:00:00:00:00:05", "spare": "02:00:00:00:00:06",
}

var addresses = map[string]string{
	"tx": "198.18.0.1", "in": "198.18.0.2", "out": "198.18.1.2", "rx": "198.18.1.1",
	"idle": "198.18.2.1", "spare": "198.18.2.2",
}

var serial atomic.Int64

// need skips, or fails where everything is promised to be there.
func need(t *testing.T, ok bool, capability string) {
	t.Helper()
	if ok {
		return
	}
	if os.Getenv("NINES_REQUIRE") == "all" {
		t.Fatalf("missing: %s", capability)
	}
	t.Skipf("missing: %s", capability)
}

func enginePath(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../../bin/nines-engine")
	if err == nil {
		_, err = os.Stat(path)
	}
	need(t, err == nil, "bin/nines-engine (make build)")
	return path
}

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
	// No neighbour discovery: only the test's packets are on the wire. The sender's
	// address is the receiver's own, which a UDP socket gets with accept_local only.
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
}

func neighbour(t *testing.T, ns, device, peer string) {
	t.Helper()
	ip(t, fmt.Sprintf("-n %s neigh replace %s lladdr %s dev %s", ns, addresses[peer], macs[peer], device))
}

// throughDUT makes the network of the drawing.
func throughDUT(t *testing.T, mtu int) network {
	t.Helper()
	need(t, os.Geteuid() == 0, "root, for network namespaces")
	n := network{t: t, generator: namespace(t), dut: namespace(t)}
	veth(t, n.generator, "tx", n.dut, "in", mtu)
	veth(t, n.generator, "rx", n.dut, "out", mtu)
	neighbour(t, n.generator, "tx", "in")
	neighbour(t, n.dut, "in", "tx")
	neighbour(t, n.dut, "out", "rx")
	return n
}

// feature switches an offload of a device; a sender's device needs
// tx-udp-segmentation off to segment bursts itself.
func feature(t *testing.T, ns, device, name, value string) {
	t.Helper()
	out, err := exec.Command("ip", "netns", "exec", ns, "ethtool", "-K", device, name, value).CombinedOutput()
	if err != nil {
		t.Fatalf("ethtool -K %s %s %s in %s: %v: %s", device, name, value, ns, err, out)
	}
}

// direct joins tx to rx.
func direct(t *testing.T, mtu int) network {
	t.Helper()
	need(t, os.Geteuid() == 0, "root, for network namespaces")
	n := network{t: t, generator: namespace(t)}
	veth(t, n.generator, "tx", n.generator, "rx", mtu)
	neighbour(t, n.generator, "tx", "rx")
	return n
}

// startEngine runs an engine in a namespace until the test ends.
func startEngine(t *testing.T, ns string) *client.Client {
	t.Helper()
	command := exec.Command("ip", "netns", "exec", ns, enginePath(t))
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	engine := client.New(out, in, io.Closer(in))
	t.Cleanup(func() {
		_ = engine.Close()
		if err := command.Wait(); err != nil {
			t.Errorf("engine: %v", err)
		}
	})
	if _, err := engine.Hello(); err != nil {
		t.Fatal(err)
	}
	return engine
}

// variant is what a test varies.
type variant struct {
	backend, io, wait string
	frameBytes        int
	flows             int
	flowField         string
	pattern           string
	burst             int
	ratePPS           float64
}

func (v variant) String() string {
	name := fmt.Sprintf("%s-%s-%s-%dB", v.backend, v.io, v.wait, v.frameBytes)
	if v.flows > 1 {
		name += fmt.Sprintf("-%d-%s", v.flows, v.flowField)
	}
	if v.pattern != "" {
		name += "-" + v.pattern
	}
	if v.burst > 1 {
		name += fmt.Sprintf("-burst%d", v.burst)
	}
	return name
}

func (v variant) port(name, peer string) client.Port {
	p := client.Port{
		Name: name, Backend: v.backend, Interface: name, IO: v.io, Wait: v.wait,
		LocalMAC: macs[name], LocalIP: addresses[name], UDPPort: 7999,
		FrameBytes: v.frameBytes, Flows: 1,
	}
	if peer != "" {
		p.PeerMAC, p.PeerIP = macs[peer], addresses[peer]
	}
	return p
}

func open(t *testing.T, engine *client.Client, port client.Port) {
	t.Helper()
	if _, err := engine.Open(port); err != nil {
		t.Fatalf("open %s: %v", port.Name, err)
	}
}

func (v variant) trial(tx, rx string) client.Trial {
	burst, rate := v.burst, v.ratePPS
	if burst == 0 {
		burst = 1
	}
	if rate == 0 {
		rate = 2000
	}
	return client.Trial{
		Role: "loop", Tx: tx, Rx: rx, CPU: -1, RatePPS: rate, Pattern: v.pattern, Burst: burst, Seed: 3,
		WarmupNs: 50e6, DurationNs: 250e6, DrainNs: 3e9, Outliers: 10,
	}
}

// checkAll demands that every packet is accounted for: at these rates none may
// be lost, whatever the machine does, because the queues hold the whole trial.
func checkAll(t *testing.T, r client.TrialResult) {
	t.Helper()
	if r.TxPackets == 0 {
		t.Error("nothing was sent")
	}
	if r.RxPackets != r.TxPackets {
		t.Errorf("received %d of %d sent; drops %v", r.RxPackets, r.TxPackets, r.Drops)
	}
	if r.TxFailed+r.DuplicatePackets+r.ReorderedPackets+r.InvalidPackets+r.LatePackets != 0 {
		t.Errorf("failed %d, duplicate %d, reordered %d, invalid %d, late %d; want none",
			r.TxFailed, r.DuplicatePackets, r.ReorderedPackets, r.InvalidPackets, r.LatePackets)
	}
	for name, h := range map[string]client.Histogram{"latency": r.Latency, "from_tx": r.FromTx, "send_lag": r.SendLag} {
		var sum uint64
		for _, c := range h.Counts {
			sum += uint64(c[1])
		}
		if h.Count != r.RxPackets || sum != h.Count {
			t.Errorf("%s holds %d (counts add up to %d), want %d", name, h.Count, sum, r.RxPackets)
		}
	}
	if r.Spacing.Count+1 != r.TxPackets {
		t.Errorf("spacing holds %d of %d packets", r.Spacing.Count, r.TxPackets)
	}
	if r.Latency.Min < r.FromTx.Min {
		t.Errorf("latency from the intended send (%d ns) is below that from the actual (%d ns)", r.Latency.Min, r.FromTx.Min)
	}
}

// checkRecord demands a record of each packet, in the order of their ids: none of these
// networks reorders.
func checkRecord(t *testing.T, path string, packets uint64) {
	t.Helper()
	const header, record = 64, 16
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(content) != int(header+record*packets) || string(content[:8]) != "NINESREC" {
		t.Fatalf("%s has %d bytes, want %d packets in it", filepath.Base(path), len(content), packets)
	}
	var before uint64
	for i := range packets {
		one := content[header+record*i:]
		id, ticks := binary.LittleEndian.Uint32(one), binary.LittleEndian.Uint64(one[8:])
		if uint64(id) != i || ticks < before {
			t.Fatalf("%s: record %d is packet %d at tick %d, after %d", filepath.Base(path), i, id, ticks, before)
		}
		before = ticks
	}
}

func variants() []variant {
	var all []variant
	for _, backend := range []string{"udp", "raw", "ring", "xdp"} {
		for _, io := range []string{"single", "batch"} {
			for _, wait := range []string{"block", "spin", "busy_poll"} {
				all = append(all, variant{backend: backend, io: io, wait: wait, frameBytes: 64})
			}
		}
		all = append(all,
			variant{backend: backend, io: "batch", wait: "block", frameBytes: 1518},
			variant{backend: backend, io: "single", wait: "block", frameBytes: 9018},
			variant{backend: backend, io: "batch", wait: "block", frameBytes: 9018, burst: 8},
			variant{backend: backend, io: "mmsg", wait: "spin", frameBytes: 64, burst: 64},
			variant{backend: backend, io: "batch", wait: "block", frameBytes: 64, flows: 16, flowField: "source_port"},
			variant{backend: backend, io: "single", wait: "block", frameBytes: 128, flows: 16, flowField: "source_address"},
			variant{backend: backend, io: "batch", wait: "block", frameBytes: 64, pattern: "poisson", burst: 4})
	}
	return all
}

func TestEveryPacketOverALink(t *testing.T) {
	for _, v := range variants() {
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			n := direct(t, 9000)
			engine := startEngine(t, n.generator)
			tx := v.port("tx", "rx")
			if v.flows > 0 {
				tx.Flows, tx.FlowField = v.flows, v.flowField
			}
			open(t, engine, tx)
			open(t, engine, v.port("rx", ""))
			trial := v.trial("tx", "rx")
			trial.RecordSent, trial.RecordReceived = filepath.Join(t.TempDir(), "sent"), filepath.Join(t.TempDir(), "received")
			r, err := engine.Trial(trial, client.Events{})
			if err != nil {
				t.Fatal(err)
			}
			checkAll(t, r)
			checkRecord(t, trial.RecordSent, r.TxPackets)
			checkRecord(t, trial.RecordReceived, r.RxPackets)
			if v.pattern == "" && v.burst <= 1 && r.IntendedPackets != 500 {
				t.Errorf("intended %d packets, want 500", r.IntendedPackets)
			}
		})
	}
}

// TestBackendsMeet sends with one backend and receives with another: checksums
// that one kernel path leaves to the device must not be taken for damage.
func TestBackendsMeet(t *testing.T) {
	for _, from := range []string{"udp", "raw", "ring", "xdp"} {
		for _, to := range []string{"udp", "raw", "ring", "xdp"} {
			if from == to {
				continue
			}
			t.Run(from+"-to-"+to, func(t *testing.T) {
				t.Parallel()
				n := direct(t, 1500)
				engine := startEngine(t, n.generator)
				send := variant{backend: from, io: "single", wait: "block", frameBytes: 200}
				receive := send
				receive.backend = to
				open(t, engine, send.port("tx", "rx"))
				open(t, engine, receive.port("rx", ""))
				r, err := engine.Trial(send.trial("tx", "rx"), client.Events{})
				if err != nil {
					t.Fatal(err)
				}
				checkAll(t, r)
			})
		}
	}
}

// TestForward sends through an engine that forwards with each backend, from a
// generator of UDP sockets, which accepts only what is right to the last checksum.
func TestForward(t *testing.T) {
	for _, backend := range []string{"udp", "raw", "ring", "xdp"} {
		for _, mode := range [][2]string{{"single", "block"}, {"batch", "spin"}} {
			v := variant{backend: backend, io: mode[0], wait: mode[1], frameBytes: 128}
			t.Run(v.String(), func(t *testing.T) {
				t.Parallel()
				n := throughDUT(t, 1500)
				dut := startEngine(t, n.dut)
				open(t, dut, v.port("in", "tx"))
				open(t, dut, v.port("out", "rx"))
				if err := dut.Serve(client.Serve{Role: "forward", Ports: []string{"in", "out"}, CPU: -1}); err != nil {
					t.Fatal(err)
				}
				engine := startEngine(t, n.generator)
				generator := variant{backend: "udp", io: "single", wait: "block", frameBytes: 128}
				open(t, engine, generator.port("tx", "in"))
				open(t, engine, generator.port("rx", ""))
				r, err := engine.Trial(generator.trial("tx", "rx"), client.Events{})
				if err != nil {
					t.Fatal(err)
				}
				stats, err := dut.Stop()
				if err != nil {
					t.Fatal(err)
				}
				checkThroughDevice(t, r, stats)
			})
		}
	}
}

// checkThroughDevice wants every packet of a trial, counted by the device it went through.
func checkThroughDevice(t *testing.T, r client.TrialResult, stats client.Stats) {
	t.Helper()
	checkAll(t, r)
	all := r.TxPackets + r.WarmupRxPackets
	if stats.Ports[0].RxPackets < all || stats.Ports[1].TxPackets < all {
		t.Errorf("the device counts %+v, want %d in and out", stats.Ports, all)
	}
}

func TestReflect(t *testing.T) {
	for _, backend := range []string{"udp", "raw", "ring", "xdp"} {
		v := variant{backend: backend, io: "batch", wait: "block", frameBytes: 64}
		t.Run(v.String(), func(t *testing.T) {
			t.Parallel()
			n := throughDUT(t, 1500)
			dut := startEngine(t, n.dut)
			open(t, dut, v.port("in", ""))
			if err := dut.Serve(client.Serve{Role: "reflect", Ports: []string{"in"}, CPU: -1}); err != nil {
				t.Fatal(err)
			}
			engine := startEngine(t, n.generator)
			generator := variant{backend: "udp", io: "single", wait: "block", frameBytes: 64}
			open(t, engine, generator.port("tx", "in"))
			r, err := engine.Trial(generator.trial("tx", "tx"), client.Events{})
			if err != nil {
				t.Fatal(err)
			}
			checkAll(t, r)
		})
	}
}

// TestPair runs generator and sink as two engines with a common start.
func TestPair(t *testing.T) {
	n := direct(t, 1500)
	v := variant{backend: "raw", io: "batch", wait: "block", frameBytes: 64}
	sink, generator := startEngine(t, n.generator), startEngine(t, n.generator)
	open(t, generator, v.port("tx", "rx"))
	open(t, sink, v.port("rx", ""))
	base := v.trial("", "")
	started := make(chan int64, 1)
	type outcome struct {
		result client.TrialResult
		err    error
	}
	received := make(chan outcome, 1)
	sinkTrial := base
	sinkTrial.Role, sinkTrial.Rx = "sink", "rx"
	go func() {
		r, err := sink.Trial(sinkTrial, client.Events{Started: func(at int64, _ int) { started <- at }})
		received <- outcome{r, err}
	}()
	sendTrial := base
	// The sink's start; it has begun, so the generator's packets are all later.
	sendTrial.Role, sendTrial.Tx, sendTrial.StartNs = "generate", "tx", <-started+1e9
	sent, err := generator.Trial(sendTrial, client.Events{})
	if err != nil {
		t.Fatal(err)
	}
	if err := sink.End(sent.TxPackets); err != nil {
		t.Fatal(err)
	}
	got := <-received
	if got.err != nil {
		t.Fatal(got.err)
	}
	if sent.TxPackets == 0 || got.result.RxPackets != sent.TxPackets {
		t.Errorf("received %d of %d", got.result.RxPackets, sent.TxPackets)
	}
	if sent.SendLag.Count != sent.TxPackets || got.result.Latency.Count != sent.TxPackets {
		t.Errorf("send lag of %d, latency of %d, want %d", sent.SendLag.Count, got.result.Latency.Count, sent.TxPackets)
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	n := direct(t, 1500)
	engine := startEngine(t, n.generator)
	for _, backend := range []string{"udp", "raw", "ring", "xdp"} {
		v := variant{backend: backend, io: "single", wait: "block", frameBytes: 64}
		port := v.port("tx", "rx")
		port.Interface = "nosuch0"
		_, err := engine.Open(port)
		var refused *client.Error
		if !asError(err, &refused) || refused.Errno != "ENODEV" || !strings.Contains(refused.Problem, "nosuch0") {
			t.Errorf("%s on a missing interface: %v", backend, err)
		}
	}
}

func asError(err error, to **client.Error) bool { return errors.As(err, to) }
