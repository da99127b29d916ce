package enginetest

import (
	"bufio"
	"bytes"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/test/labtest"
)

// redirected is how many frames a veth was given by redirects.
func redirected(t *testing.T, ns, device string) (frames uint64) {
	t.Helper()
	out, err := exec.Command("ip", "netns", "exec", ns, "ethtool", "-S", device).Output()
	if err != nil {
		t.Fatalf("ethtool -S %s: %v", device, err)
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		if _, err := fmt.Sscanf(strings.TrimSpace(lines.Text()), "tx_queue_0_xdp_xmit: %d", &frames); err == nil {
			return frames
		}
	}
	t.Fatalf("ethtool -S %s does not tell what was redirected to it:\n%s", device, out)
	return 0
}

// TestBurstsLeaveAsXDPFrames: large bursts do, each packet whole and in its place, small
// ones and long frames leave by the socket.
func TestBurstsLeaveAsXDPFrames(t *testing.T) {
	const longest = 33*64 - 4 // XDP_FRAMES_BYTES of engine/port/filter.h
	for _, c := range []struct {
		name   string
		v      variant
		leaves bool
	}{
		{"small frames", variant{frameBytes: 64, burst: 50}, true},
		{"odd ones", variant{frameBytes: 207, burst: 50}, true},
		{"long ones", variant{frameBytes: 1518, burst: 50}, true},
		{"the longest", variant{frameBytes: longest, burst: 50}, true},
		{"flows", variant{frameBytes: 64, burst: 50, flows: 16, flowField: "source_port"}, true},
		{"the least that pays", variant{frameBytes: 64, burst: 16}, true},
		{"too few to pay", variant{frameBytes: 64, burst: 15}, false},
		{"too long", variant{frameBytes: longest + 1, burst: 50}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := direct(t, 9000)
			engine := startEngine(t, n.generator)
			v := c.v
			v.backend, v.io, v.wait, v.ratePPS = "xdp", "batch", "block", 20_000
			open(t, engine, v.port("rx", ""))
			tx := v.port("tx", "rx")
			tx.IO = client.XDPFrames
			if v.flows > 0 {
				tx.Flows, tx.FlowField = v.flows, v.flowField
			}
			opened, err := engine.Open(tx)
			if err != nil {
				t.Fatal(err)
			}
			able := v.frameBytes <= longest
			if able != strings.HasSuffix(opened.Mode, ", XDP frames") {
				labtest.Require(t, "a kernel that sends XDP frames: "+strings.Join(opened.Notes, "; "), !able)
				t.Errorf("mode %q with frames of %d bytes; notes %q", opened.Mode, v.frameBytes, opened.Notes)
			}
			before := redirected(t, n.generator, "tx")
			r, err := engine.Trial(v.trial("tx", "rx"), client.Events{})
			if err != nil {
				t.Fatal(err)
			}
			checkAll(t, r)
			frames, all := redirected(t, n.generator, "tx")-before, r.TxPackets+r.WarmupRxPackets
			// A burst that is behind its schedule may leave in pieces, or with the next.
			if c.leaves && frames < all/2 || !c.leaves && frames > all/2 {
				t.Errorf("%d of %d packets left as XDP frames; notes %q", frames, all, r.Notes)
			}
		})
	}
}
