package enginetest

import (
	"path/filepath"
	"testing"

	"nines.dev/nines/engine/client"
)

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
			r := sent(t, engine, trial)
			checkAll(t, r)
			checkRecord(t, trial.RecordSent, r.TxPackets)
			checkRecord(t, trial.RecordReceived, r.RxPackets)
			if v.pattern == "" && v.burst <= 1 && r.IntendedPackets != 500 {
				t.Errorf("intended %d packets, want 500", r.IntendedPackets)
			}
		})
	}
}

// TestBackendsMeet sends with one backend and receives with another: a checksum that a kernel path
// leaves to the device must not count as damage.
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
				r := sent(t, engine, send.trial("tx", "rx"))
				checkAll(t, r)
			})
		}
	}
}

// TestForward sends through an engine that forwards with each backend, from a generator on UDP
// sockets, which only accepts packets with correct checksums.
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
				r := sent(t, engine, generator.trial("tx", "rx"))
				stats, err := dut.Stop()
				if err != nil {
					t.Fatal(err)
				}
				checkThroughDevice(t, r, stats)
			})
		}
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
			r := sent(t, engine, generator.trial("tx", "tx"))
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
	sent, received := pair(t, generator, sink)
	checkPair(t, sent, received)
	if sent.SendLag.Count != sent.TxPackets {
		t.Errorf("send lag of %d, want %d", sent.SendLag.Count, sent.TxPackets)
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
		refusal(t, backend+" on a missing interface", err, "ENODEV", "nosuch0")
	}
}
