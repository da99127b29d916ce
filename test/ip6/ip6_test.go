// Package ip6 runs labs whose traffic is of IPv6: each backend, what nodes do with packets, and flows.
package ip6

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

// lab sends packets through dut: which does something with them, and how an engine reaches the interfaces.
type lab struct{ app, traffic, seen string }

func (l lab) file(name string) string {
	out, to, node := `    - {endpoints: ["dut:out", "gen:rx"]}`, "gen:rx", fmt.Sprintf("{app: {%s}}", l.app)
	if strings.Contains(l.app, "reflect") {
		out, to = "", "gen:tx"
	}
	return fmt.Sprintf(`name: ip6-%s
topology:
  nodes: {gen: {}, dut: %s}
  links:
    - {endpoints: ["gen:tx", "dut:in"]}
%s
traffic: {from: "gen:tx", to: "%s", ip: 6, rate_pps: 1000, warmup: 100ms, duration: 200ms, drain: 3s, %s}
dpdk: {hugepages: none}
`, name, node, out, to, l.traffic)
}

// refused is nines' exit code where no packet passes a network.
const refused = 2

// run measures the lab, which must end with an exit code.
func (l lab) run(t *testing.T, want int) result.Trial {
	t.Helper()
	labtest.Experiment(t)
	file := filepath.Join(t.TempDir(), "lab.yaml")
	name := strings.ReplaceAll(strings.ToLower(filepath.Base(t.Name())), "_", "-")
	if err := os.WriteFile(file, []byte(l.file(name)), 0o644); err != nil {
		t.Fatal(err)
	}
	var s result.Summary
	labtest.Measure(t, &s, want, file)
	return s.Trials[0]
}

// TestEachPath asks for the words of the path that was seen, which stand for addresses, hop limit and MACs, and that
// every packet was received or told to be lost. Times are a busy host's.
func TestEachPath(t *testing.T) {
	labs := map[string]lab{
		"router-udp":      {"kind: route", "frame_bytes: 84", "routed by dut: TTL -1"},
		"router-batch":    {"kind: route", "frame_bytes: 106, io: batch", "routed by dut: TTL -1"},
		"router-raw":      {"kind: route", "frame_bytes: 84, backend: raw, io: batch", "routed by dut: TTL -1"},
		"router-ring":     {"kind: route", "frame_bytes: 107, backend: ring, io: batch", "routed by dut: TTL -1"},
		"router-xdp":      {"kind: route", "frame_bytes: 1518, backend: xdp", "routed by dut: TTL -1"},
		"forward-udp":     {"kind: forward", "frame_bytes: 84", "relayed by dut"},
		"forward-raw":     {"kind: forward", "frame_bytes: 84, backend: raw", "forwarded by dut: MACs rewritten"},
		"forward-xdp":     {"kind: forward", "frame_bytes: 84, backend: xdp, io: batch", "forwarded by dut: MACs rewritten"},
		"reflect-udp":     {"kind: reflect", "frame_bytes: 84", "returned by dut"},
		"reflect-raw":     {"kind: reflect", "frame_bytes: 84, backend: raw", "returned by dut"},
		"flows-addresses": {"kind: route", "frame_bytes: 84, flows: 16, flow_field: source_address", "routed by dut: TTL -1"},
		"flows-ports":     {"kind: route", "frame_bytes: 84, flows: 16, backend: raw", "routed by dut: TTL -1"},
	}
	for name, l := range labs {
		t.Run(name, func(t *testing.T) {
			trial := l.run(t, 0)
			if trial.TxPackets == 0 || trial.RxPackets == 0 || trial.RxPackets+trial.LostPackets != trial.TxPackets {
				t.Errorf("%d sent, %d received, %d lost", trial.TxPackets, trial.RxPackets, trial.LostPackets)
			}
			path := trial.SeenPath
			if path == nil || !path.Declared || path.Words != l.seen || len(path.Ways) != 1 || !strings.Contains(path.Ways[0].SourceIP, "2001:2:") {
				t.Errorf("the path is %+v", path)
			}
			for _, reason := range trial.Reasons {
				if strings.Contains(reason, "did not come as planned") {
					t.Error(reason)
				}
			}
		})
	}
}

// TestAKernelThatDoesNotRoute must not pass for a device that does.
func TestAKernelThatDoesNotRoute(t *testing.T) {
	trial := lab{"kind: device, leaves: routed, forwarding: own", "frame_bytes: 84", ""}.run(t, refused)
	if trial.RxPackets != 0 || !trial.Refused {
		t.Errorf("%d packets came through a node whose kernel does not forward: %s", trial.RxPackets, trial.Verdict)
	}
	if all := strings.Join(trial.Reasons, "\n"); !strings.Contains(all, "dut") {
		t.Errorf("it does not say where packets end:\n%s", all)
	}
}
