package enginetest

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/test/labtest"
)

// floodsAtMost is how many packets a switch may flood in a trial where every address is announced
// or learned: the announcements, and packets sent while the switch learns from them.
const floodsAtMost = 8

// checkForwarded checks that the switch forwarded a trial from tx to rx.
func checkForwarded(t *testing.T, stats client.SwitchStats, tx, rx string, r client.TrialResult) {
	t.Helper()
	all := r.TxPackets + r.WarmupRxPackets
	for _, p := range stats.Ports {
		switch p.Port {
		case tx:
			if p.Forwarded+floodsAtMost < all || p.RxPackets < all {
				t.Errorf("port %s received %d and forwarded %d packets, want %d", p.Port, p.RxPackets, p.Forwarded, all)
			}
		case rx:
			if p.TxPackets < all {
				t.Errorf("port %s was given %d packets, want %d", p.Port, p.TxPackets, all)
			}
		default:
			if p.TxPackets > 2*floodsAtMost {
				t.Errorf("port %s, which none of the %d packets was for, was given %d", p.Port, all, p.TxPackets)
			}
		}
		if p.Flooded > floodsAtMost {
			t.Errorf("port %s: %d packets flooded, want the announcements only", p.Port, p.Flooded)
		}
	}
}

// The third port gets the announcements, and no packets between the other ports; with one thread
// and with two.
func TestSwitchForwardsToWhatItLearned(t *testing.T) {
	for _, cpus := range [][]int{{}, {0, 1}} {
		t.Run(fmt.Sprintf("%d-cpus", len(cpus)), func(t *testing.T) {
			labtest.Require(t, "two CPUs", runtime.NumCPU() >= len(cpus))
			b := startSwitchOn(t, cpus)
			for _, port := range []string{"tx", "rx", "in"} {
				b.listen(t, port, client.SwitchPort{Port: port})
			}
			g := b.guest(t, "tx", "rx", "in")
			stats := checkTrialThrough(t, g.Client, b.Client, "tx", "rx")
			if len(stats.Threads) != max(1, len(cpus)) {
				t.Errorf("%d threads for CPUs %v", len(stats.Threads), cpus)
			}
		})
	}
}

// switchBetween makes an engine a switch between the ports, which learns all addresses.
func switchBetween(t *testing.T, engine *client.Client, ports ...client.Port) {
	t.Helper()
	if err := engine.StartSwitch(client.Switch{CPUs: []int{}, AgeingNs: 300e9}); err != nil {
		t.Fatal(err)
	}
	for _, port := range ports {
		open(t, engine, port)
		if err := engine.Attach(client.SwitchPort{Port: port.Name}); err != nil {
			t.Fatal(err)
		}
	}
}

// checkTrialThrough sends one way, from tx to rx, which are connected to in and out of the switch:
// rx only sends the announcement of its address. On a busy host packets of the first trial may come before that
// is read, and are flooded: the second finds a switch that has learned. It returns what the switch counted.
func checkTrialThrough(t *testing.T, generator, learning *client.Client, in, out string) client.SwitchStats {
	t.Helper()
	var before, stats client.SwitchStats
	var r client.TrialResult
	for range 2 {
		before = stats
		var err error
		if r, err = generator.Trial(slowTrial("loop", "tx", "rx"), client.Events{}); err != nil {
			t.Fatal(err)
		}
		checkAll(t, r)
		if stats, err = learning.SwitchStats(); err != nil {
			t.Fatal(err)
		}
		checkSums(t, stats)
	}
	checkForwarded(t, since(before, stats), in, out, r)
	return stats
}

// since returns what ports counted between two readings.
func since(before, after client.SwitchStats) client.SwitchStats {
	for i, b := range before.Ports {
		p := &after.Ports[i]
		p.RxPackets -= b.RxPackets
		p.TxPackets -= b.TxPackets
		p.Forwarded -= b.Forwarded
		p.Flooded -= b.Flooded
	}
	return after
}

// Receivers on kernel devices announce their addresses, so their packets do not go to the third
// port as well.
//
//	generator: tx ── in ─┐
//	generator: rx ── out ┤ dut: the switch
//	generator: idle ─ spare ┘
func TestSwitchLearnsReceiversOfEachBackend(t *testing.T) {
	for _, backend := range []string{"raw", "ring", "xdp"} {
		t.Run(backend, func(t *testing.T) {
			n := throughDUT(t, 1500)
			veth(t, n.generator, "idle", n.dut, "spare", 1500)
			generator, learning := startEngine(t, n.generator), startEngine(t, n.dut)
			var ports []client.Port
			for _, name := range []string{"in", "out", "spare"} {
				ports = append(ports, client.Port{Name: name, Backend: "raw", Interface: name, Frames: "all", IO: "batch", Wait: "spin", FrameBytes: 1518})
			}
			switchBetween(t, learning, ports...)
			v := variant{backend: backend, io: "batch", wait: "spin", frameBytes: 128}
			open(t, generator, v.port("tx", "rx"))
			open(t, generator, v.port("rx", "tx"))
			checkTrialThrough(t, generator, learning, "in", "out")
		})
	}
}

// Kernel devices as ports, also two backends at once.
func TestSwitchOfKernelDevices(t *testing.T) {
	for _, backends := range [][2]string{{"raw", "raw"}, {"ring", "ring"}, {"xdp", "xdp"}, {"xdp", "ring"}} {
		t.Run(strings.Join(backends[:], "-"), func(t *testing.T) {
			n := throughDUT(t, 1500)
			generator, learning := startEngine(t, n.generator), startEngine(t, n.dut)
			var ports []client.Port
			for i, name := range []string{"in", "out"} {
				port := client.Port{
					Name: name, Backend: backends[i], Interface: name, Frames: "all", IO: "batch", Wait: "spin", FrameBytes: 1518,
				}
				ports = append(ports, port)
			}
			switchBetween(t, learning, ports...)
			v := variant{backend: "raw", io: "batch", wait: "spin", frameBytes: 128}
			open(t, generator, v.port("tx", "rx"))
			open(t, generator, v.port("rx", "tx"))
			checkTrialThrough(t, generator, learning, "in", "out")
		})
	}
}

// DPDK's devices as ports.
func TestSwitchOfDPDKDevices(t *testing.T) {
	device := func(name, argument string) client.Port {
		return client.Port{Name: name, Backend: "dpdk", Device: argument, IO: "batch", Wait: "spin", FrameBytes: 1518}
	}
	t.Run("memif", func(t *testing.T) {
		labtest.Require(t, "root, for DPDK's memory", os.Geteuid() == 0)
		learning, generator := startDPDK(t, "", false), startDPDK(t, "", false)
		folder := t.TempDir()
		server := func(i int, name string) client.Port {
			return device(name, fmt.Sprintf("net_memif%d,role=server,socket-abstract=no,socket=%s", i, filepath.Join(folder, name)))
		}
		switchBetween(t, learning.Client, server(0, "in"), server(1, "out"))
		for i, ends := range [][3]string{{"tx", "rx", "in"}, {"rx", "tx", "out"}} {
			open(t, generator.Client, dpdkPort(ends[0], ends[1],
				fmt.Sprintf("net_memif%d,socket-abstract=no,socket=%s", i, filepath.Join(folder, ends[2])), 128))
		}
		checkTrialThrough(t, generator.Client, learning.Client, "in", "out")
	})
	t.Run("tap", func(t *testing.T) {
		labtest.Require(t, "root, for a network namespace", os.Geteuid() == 0)
		ns := namespace(t)
		learning, generator := startDPDK(t, ns, false), startEngine(t, ns)
		switchBetween(t, learning.Client, device("in", "net_tap0,iface=tx"), device("out", "net_tap1,iface=rx"))
		v := variant{backend: "raw", io: "batch", wait: "spin", frameBytes: 128}
		open(t, generator, v.port("tx", "rx"))
		open(t, generator, v.port("rx", "tx"))
		checkTrialThrough(t, generator, learning.Client, "in", "out")
	})
}
