package plan

import (
	"errors"
	"strings"
	"testing"

	"nines.dev/nines/spec"
)

// TestEngineMemory: an engine gets what its ports' buffers take, and at least 64 MiB where the file
// gives no size; too small a size in the file is refused, and so are frames that a driver cannot
// carry.
func TestEngineMemory(t *testing.T) {
	const mebibyte = 1 << 20
	for _, c := range []struct {
		name       string
		kind       spec.LinkKind
		frameBytes int
		dpdk       spec.DPDK
		want       int64 // of node a, in MiB
		refused    string
	}{
		{"usual frames", spec.LinkMemif, 64, spec.DPDK{}, 64, ""},
		{"long frames", spec.LinkMemif, 9018, spec.DPDK{}, 82, ""},
		{"long frames through slots of 16 KiB", spec.LinkVeth, 9018, spec.DPDK{}, 118, ""},
		{"the least that a file may say", spec.LinkMemif, 1518, spec.DPDK{Memory: 32 * mebibyte}, 32, ""},
		{"the longer queues of AF_XDP", spec.LinkVeth, 64, spec.DPDK{Memory: 32 * mebibyte, Driver: spec.DriverAFXDP}, 0,
			"dpdk.memory: 32 MiB is too little for the buffers of node a, which needs 38 MiB for its ports and frames of 64 bytes; set at least that (--set dpdk.memory=38MiB), or remove it"},
		{"too little for long frames", spec.LinkMemif, 9018, spec.DPDK{Memory: 64 * mebibyte}, 0, "(--set dpdk.memory=82MiB)"},
		{"the longest frame of AF_XDP", spec.LinkVeth, 3392, spec.DPDK{Driver: spec.DriverAFXDP}, 64, ""},
		{"a longer one", spec.LinkVeth, 3393, spec.DPDK{Driver: spec.DriverAFXDP}, 0,
			"link l: DPDK opens a:x by net_af_xdp, which supports frames of at most 3392 bytes, and they have 3393; use af_packet (--set dpdk.driver=af_packet), or send smaller frames (--set traffic.frame_bytes=3392)"},
		{"a longer one for a device of the file's", spec.LinkVeth, 9000, spec.DPDK{Device: map[string]string{"a:x": "net_af_xdp1,iface=x"}}, 0,
			"use net_af_packet in dpdk.device, or"},
		{"slots of the file's", spec.LinkVeth, 64, spec.DPDK{Device: map[string]string{"a:x": "net_af_packet0,iface=x,framesz=16384"}}, 64, ""},
		{"slots of the file's in little memory", spec.LinkVeth, 64, spec.DPDK{Memory: 48 * mebibyte, Device: map[string]string{"a:x": "net_af_packet0,iface=x,framesz=16384"}}, 0, "(--set dpdk.memory=62MiB)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			exp := bypass(c.kind, false)
			exp.Traffic.FrameBytes, exp.DPDK = c.frameBytes, &c.dpdk
			p, err := Make(exp, bypassHost(4, 1))
			if c.refused != "" {
				if !errors.As(err, new(*Conflict)) || !strings.Contains(err.Error(), c.refused) {
					t.Errorf("got  %v\nwant %s", err, c.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Nodes[0].DPDK.MemoryBytes / mebibyte; got != c.want {
				t.Errorf("it takes %d MiB, not %d", got, c.want)
			}
		})
	}
}

// TestMTUOfDevices: with AF_XDP the MTU of a veth, but not of a macvlan, has a bound, which is
// above the longest frame; with AF_PACKET every MTU fits for which the engine gets slots.
func TestMTUOfDevices(t *testing.T) {
	for _, c := range []struct {
		kind   spec.LinkKind
		mtu    int
		driver spec.DPDKDriver
		fits   bool
	}{
		{spec.LinkVeth, 3506, spec.DriverAFXDP, true}, {spec.LinkVeth, 3507, spec.DriverAFXDP, false},
		{spec.LinkBridge, 9000, spec.DriverAFXDP, false}, {spec.LinkMacvlan, 9000, spec.DriverAFXDP, true},
		{spec.LinkVeth, 9000, spec.DriverAFPacket, true},
		{spec.LinkVeth, 32640, spec.DriverAFPacket, true}, {spec.LinkVeth, 32641, spec.DriverAFPacket, false},
		{spec.LinkMacvlan, 65408, spec.DriverAFPacket, false}, {spec.LinkBridge, 65535, spec.DriverAFPacket, false},
		{spec.LinkMemif, 65535, spec.DriverAFPacket, true},
	} {
		exp := bypass(c.kind, false)
		exp.Topology.Links[0].MTU, exp.DPDK = c.mtu, &spec.DPDK{Driver: c.driver}
		_, err := Make(exp, bypassHost(4, 1))
		if (err == nil) != c.fits || err != nil && !strings.Contains(err.Error(), "remove mtu") {
			t.Errorf("%s with MTU %d by %s: %v", c.kind, c.mtu, c.driver, err)
		}
	}
}

// TestLessMemoryIsSuggestedWhereItIsEnough: 32 MiB are not suggested where the ports do not fit
// into them.
func TestLessMemoryIsSuggestedWhereItIsEnough(t *testing.T) {
	for _, c := range []struct {
		frameBytes   int
		memory       spec.Size
		want, absent string
	}{
		{64, 1 << 40, "use less (--set dpdk.memory=32MiB), or --set dpdk.hugepages=none", ""},
		{9018, 1 << 40, "use less (--set dpdk.memory=82MiB), or --set dpdk.hugepages=none", ""},
		{9018, 0, "--set dpdk.hugepages=none", "use less"},
	} {
		exp, inv := bypass(spec.LinkMemif, false), bypassHost(3, 1)
		exp.Traffic.FrameBytes, exp.DPDK = c.frameBytes, &spec.DPDK{Hugepages: spec.HugepagesReserve, Memory: c.memory}
		inv.Hugepages[0].Free, inv.Hugepages[0].Total = 0, 0
		inv.NUMANodes[0].MemoryTotalBytes, inv.MemoryBytes = 1<<24, 1<<24
		p, err := Make(exp, inv)
		if err != nil {
			t.Fatal(err)
		}
		findings := p.Lacking(inv)
		if len(findings) != 1 {
			t.Fatalf("%d bytes: %v", c.frameBytes, findings)
		}
		if remedy := findings[0].Remedy; !strings.Contains(remedy, c.want) || c.absent != "" && strings.Contains(remedy, c.absent) {
			t.Errorf("%d bytes: %s", c.frameBytes, remedy)
		}
	}
}
