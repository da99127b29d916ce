package enginetest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/test/labtest"
)

// segmentCase is one way a burst may leave; want is the mode that the port must report.
type segmentCase struct {
	name            string
	usoOn           bool   // the device, not the kernel, would segment
	checksumOff     bool   // as in a lab
	qdisc           string // on the sender's device
	flows           int
	frameBytes      int
	backend, want   string
	noteAtOpen      string
	receivedBackend string
}

func segmentCases() []segmentCase {
	var all []segmentCase
	for _, way := range []struct{ backend, segmented, single string }{
		{"udp", "socket, segmented batches", "socket, sendmmsg"},
		{"raw", "socket, segmented batches", "socket, sendmmsg"},
		{"ring", "tpacket_v2, segmented batches", "tpacket_v2"},
	} {
		backend := way.backend
		// A ring's slot holds some frames of 200 bytes, but not a burst.
		for _, frameBytes := range []int{64, 65, 200, 1518, 9018} {
			for _, off := range []bool{false, true} {
				all = append(all, segmentCase{backend: backend, frameBytes: frameBytes, checksumOff: off,
					name: fmt.Sprintf("segmented-%dB-checksumoff-%v", frameBytes, off), want: way.segmented})
			}
		}
		all = append(all,
			segmentCase{backend: backend, frameBytes: 64, name: "device-segments", usoOn: true,
				want: way.single, noteAtOpen: "tx-udp-segmentation is on"},
			segmentCase{backend: backend, frameBytes: 64, name: "qdisc", qdisc: "pfifo",
				want: way.single, noteAtOpen: "queueing discipline"},
			segmentCase{backend: backend, frameBytes: 64, name: "flows", flows: 16, want: way.single})
	}
	return all
}

// TestSegmentedBursts sends bursts each way, to a receiver that checks every
// checksum: each packet must arrive as its own frame, intact and in order.
func TestSegmentedBursts(t *testing.T) {
	for _, c := range segmentCases() {
		for _, receiver := range []string{"udp", "raw"} {
			t.Run(c.backend+"-"+c.name+"-to-"+receiver, func(t *testing.T) {
				t.Parallel()
				c.receivedBackend = receiver
				c.run(t)
			})
		}
	}
}

func (c segmentCase) prepare(t *testing.T) network {
	t.Helper()
	n := direct(t, 9000)
	uso := "off"
	if c.usoOn {
		uso = "on"
	}
	feature(t, n.generator, "tx", "tx-udp-segmentation", uso)
	if c.checksumOff {
		feature(t, n.generator, "tx", "tx", "off")
	}
	if c.qdisc != "" {
		out, err := exec.Command("ip", "netns", "exec", n.generator, "tc", "qdisc", "add", "dev", "tx", "root", c.qdisc).CombinedOutput()
		if err != nil {
			t.Fatalf("tc qdisc add %s: %v: %s", c.qdisc, err, out)
		}
	}
	return n
}

// deviceFrames is how many frames a device has sent or received.
func deviceFrames(t *testing.T, ns, device, counter string) uint64 {
	t.Helper()
	out, err := exec.Command("ip", "netns", "exec", ns, "cat", filepath.Join("/sys/class/net", device, "statistics", counter)).Output()
	if err != nil {
		t.Fatal(err)
	}
	var n uint64
	if _, err := fmt.Sscan(string(out), &n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (c segmentCase) run(t *testing.T) {
	n := c.prepare(t)
	engine := startEngine(t, n.generator)
	v := variant{backend: c.backend, io: "batch", wait: "block", frameBytes: c.frameBytes, burst: 50}
	tx := v.port("tx", "rx")
	if c.flows > 0 {
		tx.Flows, tx.FlowField = c.flows, "source_port"
	}
	opened, err := engine.Open(tx)
	if err != nil {
		t.Fatal(err)
	}
	if opened.Mode != c.want {
		t.Errorf("mode %q, want %q; notes %q", opened.Mode, c.want, opened.Notes)
	}
	if notes := strings.Join(opened.Notes, "; "); !strings.Contains(notes, c.noteAtOpen) {
		t.Errorf("notes %q, want %q", notes, c.noteAtOpen)
	}
	v.backend = c.receivedBackend
	open(t, engine, v.port("rx", ""))
	var before uint64
	r := sent(t, engine, v.trial("tx", "rx"), func() { before = deviceFrames(t, n.generator, "rx", "rx_packets") })
	checkAll(t, r)
	if len(r.Notes) > 0 && strings.Contains(strings.Join(r.Notes, ";"), "does not segment") {
		labtest.Require(t, "a kernel that segments here: "+strings.Join(r.Notes, "; "), false)
	}
	if got, want := deviceFrames(t, n.generator, "rx", "rx_packets")-before, r.TxPackets+r.WarmupRxPackets; got != want {
		t.Errorf("the receiver's device counts %d frames, want %d: each packet is a frame", got, want)
	}
}

// TestSegmentationIsLookedAtBeforeEachTrial: traffic control must see packets, not bursts, even if
// it was added after the port was opened.
func TestSegmentationIsLookedAtBeforeEachTrial(t *testing.T) {
	for _, backend := range []string{"udp", "raw", "ring"} {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			n := segmentCase{}.prepare(t)
			engine := startEngine(t, n.generator)
			v := variant{backend: backend, io: "batch", wait: "block", frameBytes: 64, burst: 50}
			open(t, engine, v.port("tx", "rx"))
			open(t, engine, v.port("rx", ""))
			feature(t, n.generator, "tx", "tx-udp-segmentation", "on")
			r := sent(t, engine, v.trial("tx", "rx"))
			checkAll(t, r)
			if notes := strings.Join(r.Notes, "; "); !strings.Contains(notes, "tx-udp-segmentation is on") {
				t.Errorf("notes %q do not say that batches are no longer segmented", notes)
			}
		})
	}
}

// TestTooLongBursts: frames over the MTU are refused and counted, not accepted and then lost.
func TestTooLongBursts(t *testing.T) {
	for _, backend := range []string{"udp", "raw"} {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			n := direct(t, 1400)
			feature(t, n.generator, "tx", "tx-udp-segmentation", "off")
			engine := startEngine(t, n.generator)
			v := variant{backend: backend, io: "batch", wait: "block", frameBytes: 1518, burst: 50}
			open(t, engine, v.port("tx", "rx"))
			open(t, engine, v.port("rx", ""))
			trial := v.trial("tx", "rx")
			trial.DrainNs = 1e6
			r, err := engine.Trial(trial, client.Events{})
			if err != nil {
				t.Fatal(err)
			}
			if r.TxPackets != 0 || r.TxFailed == 0 || r.TxFailed > r.IntendedPackets {
				t.Errorf("sent %d, failed %d of %d intended; want none sent, and it counted", r.TxPackets, r.TxFailed, r.IntendedPackets)
			}
		})
	}
}
