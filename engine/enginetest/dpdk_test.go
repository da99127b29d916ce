package enginetest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"nines.dev/nines/engine/client"
)

// Two engines, each with DPDK of its own, joined by a socket and shared memory, or by
// a veth pair in a namespace:
//
//	generator                     sink
//	+-------------+  a.sock    +-------------+
//	| tx  device -+------------+- rx  device |
//	+-------------+            +-------------+

// dpdkEngine is an engine that was told to start DPDK.
type dpdkEngine struct {
	*client.Client
	process *exec.Cmd
	killed  bool
}

// kill ends it as a crash would.
func (e *dpdkEngine) kill(t *testing.T) {
	t.Helper()
	e.killed = true
	if err := e.process.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = e.process.Wait()
}

// bareEngine runs an engine until the test ends, in a namespace if there is one.
func bareEngine(t *testing.T, ns string) *dpdkEngine {
	t.Helper()
	need(t, os.Geteuid() == 0, "root, for DPDK's memory and devices")
	command := exec.Command(enginePath(t))
	if ns != "" {
		command = exec.Command("ip", "netns", "exec", ns, enginePath(t))
	}
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
	engine := &dpdkEngine{Client: client.New(out, in, in), process: command}
	t.Cleanup(func() {
		_ = engine.Close()
		if err := command.Wait(); err != nil && !engine.killed {
			t.Errorf("engine: %v", err)
		}
	})
	return engine
}

const engineMemory = 64 << 20

func freeHugepages(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages")
	need(t, err == nil, "hugepages of 2 MiB in the kernel")
	var free int
	if _, err := fmt.Sscan(string(text), &free); err != nil {
		t.Fatal(err)
	}
	return free
}

// wantHugepages reserves what is missing of so many free ones, for as long as the test
// lasts.
func wantHugepages(t *testing.T, pages int) {
	t.Helper()
	need(t, os.Geteuid() == 0, "root, for DPDK's memory")
	if missing := pages - freeHugepages(t); missing > 0 {
		addHugepages(t, missing)
		t.Cleanup(func() { addHugepages(t, -missing) })
	}
	need(t, freeHugepages(t) >= pages, fmt.Sprintf("memory for %d hugepages of 2 MiB", pages))
}

func addHugepages(t *testing.T, pages int) {
	t.Helper()
	const path = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var reserved int
	if _, err := fmt.Sscan(string(text), &reserved); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strconv.Itoa(reserved+pages)), 0); err != nil {
		t.Fatal(err)
	}
}

func startDPDK(t *testing.T, ns string, huge bool) *dpdkEngine {
	t.Helper()
	if huge {
		wantHugepages(t, 2*engineMemory>>21)
	}
	engine := bareEngine(t, ns)
	prefix := fmt.Sprintf("nxt%d-%d", os.Getpid(), serial.Add(1))
	started, err := engine.StartDPDK(client.DPDK{Prefix: prefix, MemoryBytes: engineMemory, Huge: huge, CPU: -1})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(started.Version, "DPDK ") {
		t.Errorf("version %q", started.Version)
	}
	return engine
}

// dpdkPort is a port with the addresses of the network tests.
func dpdkPort(name, peer, device string, frameBytes int) client.Port {
	port := client.Port{
		Name: name, Backend: "dpdk", Device: device, IO: "batch", Wait: "spin",
		LocalMAC: macs[name], LocalIP: addresses[name], UDPPort: 7999, FrameBytes: frameBytes, Flows: 1,
	}
	if peer != "" {
		port.PeerMAC, port.PeerIP = macs[peer], addresses[peer]
	}
	return port
}

// slowTrial sends so few packets that the smallest queue (virtio's, 256) holds them all.
func slowTrial(role, tx, rx string) client.Trial {
	return client.Trial{
		Role: role, Tx: tx, Rx: rx, CPU: -1, RatePPS: 500, Burst: 4, Seed: 3,
		WarmupNs: 50e6, DurationNs: 200e6, DrainNs: 3e9, Outliers: 10,
	}
}

type outcome struct {
	client.TrialResult
	err error
}

// pair runs a trial from tx of one engine to rx of another.
func pair(t *testing.T, generator, sink *client.Client) (sent, received client.TrialResult) {
	t.Helper()
	started := make(chan int64, 1)
	done := make(chan outcome, 1)
	go func() {
		r, err := sink.Trial(slowTrial("sink", "", "rx"), client.Events{Started: func(at int64, _ int) { started <- at }})
		done <- outcome{r, err}
	}()
	sending := slowTrial("generate", "tx", "")
	select {
	case at := <-started:
		sending.StartNs = at + 1e9
	case o := <-done:
		t.Fatal(o.err)
	}
	sent, err := generator.Trial(sending, client.Events{})
	if err != nil {
		t.Fatal(err)
	}
	if err := sink.End(sent.TxPackets); err != nil {
		t.Fatal(err)
	}
	o := <-done
	if o.err != nil {
		t.Fatal(o.err)
	}
	return sent, o.TrialResult
}

func checkPair(t *testing.T, sent, received client.TrialResult) {
	t.Helper()
	// A generator that the host holds up at its end falls short of the 100.
	if sent.TxPackets == 0 || sent.IntendedPackets != 100 {
		t.Errorf("sent %d of %d, want 100", sent.TxPackets, sent.IntendedPackets)
	}
	if received.RxPackets != sent.TxPackets || received.Latency.Count != sent.TxPackets {
		t.Errorf("received %d and recorded %d of %d; drops %v, %v", received.RxPackets, received.Latency.Count,
			sent.TxPackets, sent.Drops, received.Drops)
	}
	if received.DuplicatePackets+received.ReorderedPackets+received.InvalidPackets != 0 {
		t.Errorf("duplicate %d, reordered %d, invalid %d; want none", received.DuplicatePackets,
			received.ReorderedPackets, received.InvalidPackets)
	}
}

func TestDPDKEveryPacketOfAPair(t *testing.T) {
	tests := []struct {
		name, first, second string // devices, in the order in which they are opened
		sinkFirst           bool
		frameBytes          int
		veth, noHuge        bool
	}{
		{name: "memif", first: "net_memif0,role=server,socket-abstract=no,socket=SOCKET", second: "net_memif0,socket-abstract=no,socket=SOCKET", sinkFirst: true},
		{name: "memif-client-first", first: "net_memif0,socket-abstract=no,socket=SOCKET", second: "net_memif0,role=server,socket-abstract=no,socket=SOCKET"},
		{name: "memif-zero-copy", first: "net_memif0,role=server,socket-abstract=no,socket=SOCKET", second: "net_memif0,zero-copy=yes,socket-abstract=no,socket=SOCKET", sinkFirst: true},
		{name: "memif-9018", first: "net_memif0,role=server,socket-abstract=no,socket=SOCKET", second: "net_memif0,socket-abstract=no,socket=SOCKET", sinkFirst: true, frameBytes: 9018},
		{name: "memif-no-huge", first: "net_memif0,role=server,socket-abstract=no,socket=SOCKET", second: "net_memif0,socket-abstract=no,socket=SOCKET", sinkFirst: true, noHuge: true},
		{name: "virtio-user-to-vhost", first: "net_vhost0,iface=SOCKET", second: "net_virtio_user0,path=SOCKET", sinkFirst: true},
		{name: "vhost-to-virtio-user", first: "net_vhost0,iface=SOCKET", second: "net_virtio_user0,path=SOCKET"},
		{name: "virtio-user-listens", first: "net_virtio_user0,server=1,path=SOCKET", second: "net_vhost0,client=1,iface=SOCKET"},
		{name: "virtio-user-9018", first: "net_vhost0,iface=SOCKET", second: "net_virtio_user0,path=SOCKET", sinkFirst: true, frameBytes: 9018},
		{name: "virtio-user-no-huge", first: "net_vhost0,iface=SOCKET", second: "net_virtio_user0,path=SOCKET", sinkFirst: true, noHuge: true},
		{name: "af_packet", first: "net_af_packet0,iface=rx", second: "net_af_packet0,iface=tx", sinkFirst: true, veth: true},
		{name: "af_xdp", first: "net_af_xdp0,iface=rx", second: "net_af_xdp0,iface=tx", sinkFirst: true, veth: true},
		{name: "af_packet-no-huge", first: "net_af_packet0,iface=rx", second: "net_af_packet0,iface=tx", sinkFirst: true, veth: true, noHuge: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var ns string
			if test.veth {
				ns = direct(t, 1500).generator
			}
			socket := filepath.Join(t.TempDir(), "a.sock")
			frameBytes := max(test.frameBytes, 64)
			generator, sink := startDPDK(t, ns, !test.noHuge), startDPDK(t, ns, !test.noHuge)
			for i, device := range []string{test.first, test.second} {
				device = strings.ReplaceAll(device, "SOCKET", socket)
				if test.sinkFirst == (i == 0) {
					open(t, sink.Client, dpdkPort("rx", "", device, frameBytes))
				} else {
					open(t, generator.Client, dpdkPort("tx", "rx", device, frameBytes))
				}
			}
			sent, received := pair(t, generator.Client, sink.Client)
			checkPair(t, sent, received)
			// The device is given back, and can be had again.
			if err := sink.ClosePort("rx"); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestDPDKWithKernel joins a tap device of DPDK's to the engine's own sockets.
func TestDPDKWithKernel(t *testing.T) {
	ns := direct(t, 1500).generator
	generator, sink := startDPDK(t, ns, true), startEngine(t, ns)
	open(t, generator.Client, dpdkPort("tx", "rx", "net_tap0,iface=ntap0", 64))
	port := variant{backend: "raw", io: "batch", wait: "block", frameBytes: 64}.port("rx", "")
	port.Interface = "ntap0"
	open(t, sink, port)
	sent, received := pair(t, generator.Client, sink)
	checkPair(t, sent, received)
}

// TestDPDKLoops sends and receives in one thread, by devices that need no peer.
func TestDPDKLoops(t *testing.T) {
	engine := startDPDK(t, "", true)
	check := func(t *testing.T, tx, rx string) {
		t.Helper()
		r, err := engine.Trial(slowTrial("loop", tx, rx), client.Events{})
		if err != nil {
			t.Fatal(err)
		}
		checkAll(t, r)
	}
	t.Run("ring", func(t *testing.T) {
		open(t, engine.Client, dpdkPort("tx", "rx", "net_ring0", 64))
		check(t, "tx", "tx")
		if err := engine.ClosePort("tx"); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("memif", func(t *testing.T) {
		socket := filepath.Join(t.TempDir(), "a.sock")
		open(t, engine.Client, dpdkPort("rx", "", "net_memif0,role=server,socket-abstract=no,socket="+socket, 64))
		open(t, engine.Client, dpdkPort("tx", "rx", "net_memif1,socket-abstract=no,socket="+socket, 64))
		check(t, "tx", "rx")
		for _, name := range []string{"rx", "tx"} {
			if err := engine.ClosePort(name); err != nil {
				t.Fatal(err)
			}
		}
	})
	t.Run("null", func(t *testing.T) {
		open(t, engine.Client, dpdkPort("tx", "rx", "net_null0,no-rx=1", 64))
		r, err := engine.Trial(slowTrial("generate", "tx", ""), client.Events{})
		if err != nil {
			t.Fatal(err)
		}
		if r.TxPackets == 0 || r.TxFailed != 0 {
			t.Errorf("sent %d of 100, failed %d", r.TxPackets, r.TxFailed)
		}
		if err := engine.ClosePort("tx"); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("pcap", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "out.pcap")
		open(t, engine.Client, dpdkPort("tx", "rx", "net_pcap0,tx_pcap="+file, 128))
		r, err := engine.Trial(slowTrial("generate", "tx", ""), client.Events{})
		if err != nil {
			t.Fatal(err)
		}
		if err := engine.ClosePort("tx"); err != nil {
			t.Fatal(err)
		}
		status, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		// A file header of 24 bytes, and 16 before each frame (pcap-savefile(5)); the
		// warm-up is 24 packets and the part of a burst.
		packets := (status.Size() - 24) / (16 + 124)
		if (status.Size()-24)%(16+124) != 0 || packets <= int64(r.TxPackets) {
			t.Errorf("a file of %d bytes, for %d packets and a warm-up", status.Size(), r.TxPackets)
		}
	})
}

// TestDPDKForward sends through an engine whose ports share buffers (two of DPDK's,
// which moves them) or not (one of them a socket's, which copies).
func TestDPDKForward(t *testing.T) {
	for _, out := range []string{"dpdk", "raw"} {
		t.Run("to-"+out, func(t *testing.T) {
			n := throughDUT(t, 1500)
			socket := filepath.Join(t.TempDir(), "in.sock")
			dut, generator := startDPDK(t, n.dut, true), startDPDK(t, n.generator, true)
			open(t, dut.Client, dpdkPort("in", "tx", "net_memif0,role=server,socket-abstract=no,socket="+socket, 128))
			open(t, generator.Client, dpdkPort("tx", "in", "net_memif0,socket-abstract=no,socket="+socket, 128))
			onward := dpdkPort("out", "rx", "net_af_packet1,iface=out", 128)
			if out == "raw" {
				onward = variant{backend: "raw", io: "batch", wait: "spin", frameBytes: 128}.port("out", "rx")
			}
			open(t, dut.Client, onward)
			open(t, generator.Client, dpdkPort("rx", "", "net_af_packet1,iface=rx", 128))
			if err := dut.Serve(client.Serve{Role: "forward", Ports: []string{"in", "out"}, CPU: -1}); err != nil {
				t.Fatal(err)
			}
			r, err := generator.Trial(slowTrial("loop", "tx", "rx"), client.Events{})
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

func TestDPDKReflect(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "a.sock")
	dut, generator := startDPDK(t, "", true), startDPDK(t, "", true)
	open(t, dut.Client, dpdkPort("in", "", "net_vhost0,iface="+socket, 64))
	if err := dut.Serve(client.Serve{Role: "reflect", Ports: []string{"in"}, CPU: -1}); err != nil {
		t.Fatal(err)
	}
	open(t, generator.Client, dpdkPort("tx", "in", "net_virtio_user0,path="+socket, 64))
	r, err := generator.Trial(slowTrial("loop", "tx", "tx"), client.Events{})
	if err != nil {
		t.Fatal(err)
	}
	checkAll(t, r)
}

// TestDPDKPeerIsKilled kills one end in traffic, then gives the other a new peer.
func TestDPDKPeerIsKilled(t *testing.T) {
	tests := []struct{ name, stays, dies string }{
		{"memif-client", "net_memif0,role=server,socket-abstract=no,socket=SOCKET", "net_memif0,socket-abstract=no,socket=SOCKET"},
		{"memif-server", "net_memif0,socket-abstract=no,socket=SOCKET", "net_memif0,role=server,socket-abstract=no,socket=SOCKET"},
		{"virtio-user", "net_vhost0,iface=SOCKET", "net_virtio_user0,path=SOCKET"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			socket := filepath.Join(t.TempDir(), "a.sock")
			stays := strings.ReplaceAll(test.stays, "SOCKET", socket)
			dies := strings.ReplaceAll(test.dies, "SOCKET", socket)
			generator, sink := startDPDK(t, "", true), startDPDK(t, "", true)
			open(t, generator.Client, dpdkPort("tx", "rx", stays, 64))
			open(t, sink.Client, dpdkPort("rx", "", dies, 64))
			trial := slowTrial("sink", "", "rx")
			trial.DurationNs = 60e9
			started, done := make(chan struct{}), make(chan error, 1)
			go func() {
				_, err := sink.Trial(trial, client.Events{Started: func(int64, int) { close(started) }})
				done <- err
			}()
			select {
			case <-started:
			case err := <-done:
				t.Fatal(err)
			}
			trial = slowTrial("generate", "tx", "")
			trial.RatePPS, trial.DurationNs = 100000, 2500e6
			r, err := generator.Trial(trial, client.Events{Progress: func(p client.Progress) {
				if p.Second == 1 {
					sink.kill(t)
				}
			}})
			if err != nil {
				t.Fatal(err)
			}
			if err := <-done; !errors.Is(err, client.ErrGone) {
				t.Errorf("the killed sink's trial: %v", err)
			}
			var offered, sent uint64
			for _, second := range r.Rate {
				offered += second[1]
				sent += second[2]
			}
			if r.TxPackets == 0 || sent != r.TxPackets || offered != r.IntendedPackets {
				t.Errorf("sent %d (by seconds %d), intended %d (by seconds %d)", r.TxPackets, sent, r.IntendedPackets, offered)
			}
			second := startDPDK(t, "", true)
			open(t, second.Client, dpdkPort("rx", "", dies, 64))
			// A trial is what makes memif's client look for a server again.
			if _, err := generator.Trial(slowTrial("generate", "tx", ""), client.Events{}); err != nil {
				t.Fatal(err)
			}
			again, received := pair(t, generator.Client, second.Client)
			checkPair(t, again, received)
		})
	}
}

func TestDPDKPeerNeverConnects(t *testing.T) {
	dir := t.TempDir()
	engine := startDPDK(t, "", true)
	for name, device := range map[string]string{
		"memif": "net_memif0,socket-abstract=no,socket=" + dir + "/m.sock",
		"vhost": "net_vhost0,iface=" + dir + "/v.sock",
		"user":  "net_virtio_user0,server=1,path=" + dir + "/u.sock",
	} {
		opened, err := engine.Open(dpdkPort("tx", "rx", device, 64))
		if err != nil {
			t.Fatal(err)
		}
		if notes := strings.Join(opened.Notes, "; "); !strings.Contains(notes, "waits for its peer") {
			t.Errorf("%s: notes %q", name, notes)
		}
		_, err = engine.Trial(slowTrial("generate", "tx", ""), client.Events{})
		refusal(t, name, err, "ENOTCONN", "waits for its peer")
		if err := engine.ClosePort("tx"); err != nil {
			t.Error(err)
		}
	}
}

// refusal demands an errno and a part of the text.
func refusal(t *testing.T, what string, err error, errno, text string) {
	t.Helper()
	var refused *client.Error
	if !asError(err, &refused) || refused.Errno != errno || !strings.Contains(refused.Problem, text) {
		t.Errorf("%s: %v; want %s and %q", what, err, errno, text)
	}
}

func TestDPDKSaysWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	engine := bareEngine(t, "")
	_, err := engine.Open(dpdkPort("tx", "rx", "net_null0", 64))
	refusal(t, "a port before DPDK", err, "ENXIO", "send the command dpdk first")
	_, err = engine.StartDPDK(client.DPDK{Prefix: "a", MemoryBytes: 1 << 40, Huge: true, CPU: -1})
	refusal(t, "a terabyte", err, "ENOMEM", "are free")
	refusal(t, "a terabyte", err, "ENOMEM", "524288 are wanted")
	_, err = engine.StartDPDK(client.DPDK{Prefix: "a", MemoryBytes: engineMemory, CPU: 4000})
	refusal(t, "a CPU that is not there", err, "EINVAL", "CPU 4000")
	_, err = engine.StartDPDK(client.DPDK{Prefix: "a", MemoryBytes: engineMemory, CPU: -1, PCI: []string{"fffe:1f:1f.7"}})
	refusal(t, "a PCI device that is not there", err, "ENODEV", "fffe:1f:1f.7")
	_, err = engine.StartDPDK(client.DPDK{Prefix: "../a", MemoryBytes: engineMemory, CPU: -1})
	refusal(t, "a prefix with a slash", err, "EINVAL", "prefix")

	wantHugepages(t, engineMemory>>21)
	if _, err = engine.StartDPDK(client.DPDK{Prefix: "a", MemoryBytes: engineMemory, Huge: true, CPU: -1}); err != nil {
		t.Fatal(err)
	}
	_, err = engine.StartDPDK(client.DPDK{Prefix: "a", MemoryBytes: engineMemory, Huge: true, CPU: -1})
	refusal(t, "a second start", err, "EALREADY", "once")

	blocking := dpdkPort("tx", "rx", "net_null0", 64)
	blocking.Wait = "block"
	_, err = engine.Open(blocking)
	refusal(t, "a port that sleeps", err, "EINVAL", `"wait":"spin"`)
	_, err = engine.Open(dpdkPort("tx", "rx", "net_nosuch0", 64))
	refusal(t, "an unknown driver", err, "ENODEV", "net_nosuch0")
	_, err = engine.Open(dpdkPort("tx", "rx", "net_vhost0,iface=/tmp/"+strings.Repeat("x", 120), 64))
	refusal(t, "a long path", err, "ENAMETOOLONG", "107")
	_, err = engine.Open(dpdkPort("tx", "rx", "net_virtio_user0,path="+dir+"/none.sock", 64))
	refusal(t, "nobody listens", err, "ENOENT", "nobody listens")
	if err := os.WriteFile(dir+"/file", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err = engine.Open(dpdkPort("tx", "rx", "net_vhost0,iface="+dir+"/file", 64))
	refusal(t, "a file in the way", err, "EADDRINUSE", "no socket")
	_, err = engine.Open(dpdkPort("tx", "rx", "net_af_packet0,iface=nosuch0", 64))
	refusal(t, "a missing interface", err, "ENODEV", "net_af_packet0")

	// A living process's socket is left alone, a dead one's taken away.
	other := startDPDK(t, "", true)
	open(t, other.Client, dpdkPort("rx", "", "net_vhost0,iface="+dir+"/v.sock", 64))
	_, err = engine.Open(dpdkPort("tx", "rx", "net_vhost0,iface="+dir+"/v.sock", 64))
	refusal(t, "a socket in use", err, "EADDRINUSE", "another process listens")
	other.kill(t)
	if _, err := os.Stat(dir + "/v.sock"); err != nil {
		t.Fatalf("the killed engine left no socket: %v", err)
	}
	open(t, engine.Client, dpdkPort("tx", "rx", "net_vhost0,iface="+dir+"/v.sock", 64))
}

// TestDPDKGivesMemoryBack: the pages of a killed engine return to the host, and it
// leaves no file in a hugetlbfs or in /run/dpdk.
func TestDPDKGivesMemoryBack(t *testing.T) {
	engine := startDPDK(t, "", true)
	held := freeHugepages(t)
	engine.kill(t)
	deadline := time.Now().Add(20 * time.Second)
	for freeHugepages(t) < held+engineMemory>>21 {
		if time.Now().After(deadline) {
			t.Fatalf("%d pages are free, and were %d before the engine that held %d was killed",
				freeHugepages(t), held, engineMemory>>21)
		}
		time.Sleep(10 * time.Millisecond)
	}
	for _, pattern := range []string{"/dev/hugepages/nxt*", "/run/dpdk/nxt*", "/run/nines-dpdk-*/dpdk/nxt*"} {
		if left, _ := filepath.Glob(pattern); len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	}
}
