package enginetest

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/test/labtest"
)

func TestDPDKEveryPacketOfAPair(t *testing.T) {
	type devices struct {
		name, first, second string // devices, in the order in which they are opened
		sinkFirst           bool
		frameBytes          int
		veth, noHuge        bool
		memoryMiB           int // 64 if 0
	}
	// The long form has each of them with long frames and without hugepages.
	tests := labtest.Cases(10, []devices{
		{name: "memif", first: "net_memif0,role=server,socket-abstract=no,socket=SOCKET", second: "net_memif0,socket-abstract=no,socket=SOCKET", sinkFirst: true},
		{name: "memif-client-first", first: "net_memif0,socket-abstract=no,socket=SOCKET", second: "net_memif0,role=server,socket-abstract=no,socket=SOCKET"},
		{name: "memif-zero-copy", first: "net_memif0,role=server,socket-abstract=no,socket=SOCKET", second: "net_memif0,zero-copy=yes,socket-abstract=no,socket=SOCKET", sinkFirst: true},
		{name: "virtio-user-to-vhost", first: "net_vhost0,iface=SOCKET", second: "net_virtio_user0,path=SOCKET", sinkFirst: true},
		{name: "vhost-to-virtio-user", first: "net_vhost0,iface=SOCKET", second: "net_virtio_user0,path=SOCKET"},
		{name: "virtio-user-listens", first: "net_virtio_user0,server=1,path=SOCKET", second: "net_vhost0,client=1,iface=SOCKET"},
		{name: "af_packet", first: "net_af_packet0,iface=rx", second: "net_af_packet0,iface=tx", sinkFirst: true, veth: true},
		{name: "af_xdp", first: "net_af_xdp0,iface=rx", second: "net_af_xdp0,iface=tx", sinkFirst: true, veth: true},
		{name: "memif-9018", first: "net_memif0,role=server,socket-abstract=no,socket=SOCKET", second: "net_memif0,socket-abstract=no,socket=SOCKET", sinkFirst: true, frameBytes: 9018},
		{name: "virtio-user-no-huge", first: "net_vhost0,iface=SOCKET", second: "net_virtio_user0,path=SOCKET", sinkFirst: true, noHuge: true},
		{name: "memif-no-huge", first: "net_memif0,role=server,socket-abstract=no,socket=SOCKET", second: "net_memif0,socket-abstract=no,socket=SOCKET", sinkFirst: true, noHuge: true},
		{name: "virtio-user-9018", first: "net_vhost0,iface=SOCKET", second: "net_virtio_user0,path=SOCKET", sinkFirst: true, frameBytes: 9018},
		{name: "af_packet-no-huge", first: "net_af_packet0,iface=rx", second: "net_af_packet0,iface=tx", sinkFirst: true, veth: true, noHuge: true},
		{name: "af_packet-1600", first: "net_af_packet0,iface=rx", second: "net_af_packet0,iface=tx", sinkFirst: true, veth: true, frameBytes: 1600},
		{name: "af_packet-9018", first: "net_af_packet0,iface=rx,framesz=16384,blocksz=65536", second: "net_af_packet0,iface=tx,framesz=16384,blocksz=65536", sinkFirst: true, veth: true, frameBytes: 9018, noHuge: true, memoryMiB: 96},
		{name: "af_xdp-2200", first: "net_af_xdp0,iface=rx", second: "net_af_xdp0,iface=tx", sinkFirst: true, veth: true, frameBytes: 2200},
		{name: "af_xdp-3392", first: "net_af_xdp0,iface=rx", second: "net_af_xdp0,iface=tx", sinkFirst: true, veth: true, frameBytes: 3392, noHuge: true},
		{name: "af_xdp-no-huge", first: "net_af_xdp0,iface=rx", second: "net_af_xdp0,iface=tx", sinkFirst: true, veth: true, noHuge: true},
	})
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var ns string
			if test.veth {
				ns = direct(t, max(1500, test.frameBytes-18)).generator
			}
			socket := filepath.Join(t.TempDir(), "a.sock")
			frameBytes := max(test.frameBytes, 64)
			memory := cmp.Or(test.memoryMiB<<20, engineMemory)
			generator, sink := startDPDKWith(t, ns, !test.noHuge, memory), startDPDKWith(t, ns, !test.noHuge, memory)
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
			// The device is released, and can be opened again.
			if err := sink.ClosePort("rx"); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAnIdleClientLooksForItsServer: the server's trial waits for a client that no thread polls, and that lost it.
func TestAnIdleClientLooksForItsServer(t *testing.T) {
	generator, sink := startDPDK(t, "", true), startDPDK(t, "", true)
	socket := filepath.Join(t.TempDir(), "a.sock")
	server := dpdkPort("rx", "", "net_memif0,role=server,socket-abstract=no,socket="+socket, 64)
	open(t, sink.Client, server)
	open(t, generator.Client, dpdkPort("tx", "rx", "net_memif0,socket-abstract=no,socket="+socket, 64))
	for range 2 {
		sent, received := pair(t, generator.Client, sink.Client)
		checkPair(t, sent, received)
		if err := sink.ClosePort("rx"); err != nil {
			t.Fatal(err)
		}
		open(t, sink.Client, server)
	}
}

// TestDPDKWithKernel connects a tap device of DPDK to the engine's own sockets.
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

// TestDPDKLoops sends and receives in one thread, with devices that need no peer.
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
			t.Errorf("sent %d of %d, failed %d", r.TxPackets, r.IntendedPackets, r.TxFailed)
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
		// The file has a header of 24 bytes, and 16 bytes before each frame
		// (pcap-savefile(5)); the warm-up is 24 packets and part of a burst, or none on a host that
		// has no CPU for it.
		packets := (status.Size() - 24) / (16 + 124)
		if (status.Size()-24)%(16+124) != 0 || packets < int64(r.TxPackets) {
			t.Errorf("a file of %d bytes, for %d packets and a warm-up", status.Size(), r.TxPackets)
		}
	})
}

// TestDPDKForward sends through an engine whose ports share buffers (two DPDK ports, which move
// them) or not (one is a socket, which copies).
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
