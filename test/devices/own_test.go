package devices

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/result"
	"nines.dev/nines/test/labtest"
)

// own is a device whose kernel does not forward.
const own = "topology.nodes.dut.app={kind: device, leaves: routed, forwarding: own}"

// router is a program that does.
func router(arguments string) string {
	return "topology.nodes.dut.services=[{name: router, run: [python3, " + filepath.Join(labtest.Repository(), "test", "devices", "testdata", "router.py") + arguments + "], ready: {output: routing}}]"
}

// brief has little traffic, and does not wait long.
var brief = []string{"--set", "traffic.path_timeout=300ms", "--set", "traffic.duration=300ms", "--set", "traffic.warmup=50ms"}

func set(keys ...string) []string {
	arguments := slices.Clone(brief)
	for _, key := range keys {
		arguments = append(arguments, "--set", key)
	}
	return arguments
}

// TestAProgramForwardsInPlaceOfTheKernel, which carries none of the packets.
func TestAProgramForwardsInPlaceOfTheKernel(t *testing.T) {
	summary, said := run(t, "../../examples/devices/c-forwarder.yaml", set(own, router(""))...)
	if summary == nil || len(summary.Trials) != 1 {
		t.Fatalf("no result:\n%s", said)
	}
	trial := summary.Trials[0]
	path := trial.SeenPath
	if trial.RxPackets == 0 || path == nil || path.Words != "routed by dut: TTL -1" {
		t.Fatalf("%d packets, path %+v:\n%s", trial.RxPackets, path, said)
	}
	for _, seen := range path.Nodes {
		if forwarded := seen.Counters["Ip.ForwDatagrams"]; seen.Node == "dut" && forwarded > 0 {
			t.Errorf("the kernel forwarded %d", forwarded)
		}
	}
}

// TestASilentProgramIsNoticed where the file does not say how packets leave the device.
func TestASilentProgramIsNoticed(t *testing.T) {
	summary, said := run(t, "../../examples/devices/c-forwarder.yaml", set("topology.nodes.dut.app={kind: device, forwarding: kernel}",
		"topology.nodes.dut.services=[{name: fwd, run: [sleep, infinity]}]")...)
	if summary == nil || len(summary.Trials) != 1 {
		t.Fatalf("no result:\n%s", said)
	}
	trial := summary.Trials[0]
	if trial.Verdict == result.Clean || !slices.ContainsFunc(trial.Reasons, func(r string) bool {
		return strings.Contains(r, "service fwd of node dut got no CPU time in the trial")
	}) {
		t.Errorf("%s: %q", trial.Verdict, trial.Reasons)
	}
}

// vxlan is what the left gateway of the example sets up, with another MTU and another next hop.
func vxlan(mtu, via string) string {
	return `topology.nodes.left.exec=[[ip, link, add, vx, type, vxlan, id, "5", local, 10.9.0.1, remote, 10.9.0.2, dstport, "4789"],
  [ip, address, add, 10.8.0.1/24, dev, vx], [ip, link, set, vx, up, mtu, "` + mtu + `"], [ip, route, add, 10.2.0.0/24, via, ` + via + `]]`
}

// TestARefusalSaysWhereAndWhy packets ended, by the kernel's reasons.
func TestARefusalSaysWhereAndWhy(t *testing.T) {
	labtest.Experiment(t)
	for _, test := range []struct {
		name, example string
		set           []string
		reasons       []string
		never         string
	}{
		{"MTU", "vxlan", []string{vxlan("1450", "10.8.0.2"), "traffic.frame_bytes=1518"},
			[]string{"probes ended at left:lan: they are larger than the MTU (PKT_TOO_BIG)", "left:wan sent 0"}, "ended at right"},
		// The kernel asks for a neighbour three times, a second apart, before it drops what waits for it.
		{"neighbour", "vxlan", []string{vxlan("1450", "10.8.0.77"), "traffic.path_timeout=6s"}, []string{"probes ended at left:vx: the neighbour did not answer ARP", "(NEIGH_"}, "ended at right"},
		{"checksum", "c-forwarder", []string{own, router(", spoil")},
			[]string{"probes ended at loadgen:rx: their UDP checksum is wrong (UDP_CSUM)", "Udp.InCsumErrors"}, "ended at dut"},
		{"no program", "c-forwarder", []string{own, "topology.nodes.dut.services=[]"},
			[]string{"probes ended at dut:in: their address is not this node's, and its kernel does not forward", "dut:out sent 0"}, "ended at loadgen"},
	} {
		t.Run(test.name, func(t *testing.T) {
			summary, said := run(t, "../../examples/devices/"+test.example+".yaml", set(test.set...)...)
			if summary == nil || len(summary.Trials) != 1 {
				t.Fatalf("no result:\n%s", said)
			}
			trial := summary.Trials[0]
			if !trial.Refused || len(trial.Reasons) != 1 {
				t.Fatalf("%+v", trial)
			}
			for _, part := range test.reasons {
				if !strings.Contains(trial.Reasons[0], part) {
					t.Errorf("%s, without %q", trial.Reasons[0], part)
				}
			}
			if strings.Contains(trial.Reasons[0], test.never) {
				t.Errorf("%s, with %q", trial.Reasons[0], test.never)
			}
		})
	}
}
