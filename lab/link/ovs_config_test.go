package link

import (
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

func TestOVSIsToldBeforeItStarts(t *testing.T) {
	huge := &plan.DPDK{Prefix: "p.l", MemoryBytes: 256 << 20, MemoryNode: 1, Huge: true}
	small := &plan.DPDK{Prefix: "p.l", MemoryBytes: 64 << 20}
	tests := map[string]struct {
		config ovsConfig
		want   string
	}{
		"the kernel's datapath needs nothing": {ovsConfig{Datapath: ovsKernelDatapath}, "--no-wait init"},
		"poll-mode threads": {ovsConfig{Datapath: ovsUserDatapath, PollCPUs: []int{2, 3, 64}},
			"--no-wait init -- set Open_vSwitch . other_config:pmd-cpu-mask=0x1000000000000000c"},
		"DPDK with hugepages": {ovsConfig{DPDK: huge, PollCPUs: []int{1}},
			`--no-wait init -- set Open_vSwitch . other_config:pmd-cpu-mask=0x2 other_config:dpdk-init=true ` +
				`other_config:dpdk-extra="--iova-mode=va --no-telemetry --file-prefix=p.l --in-memory --single-file-segments --socket-mem=0,256 --no-pci --socket-limit=0,256 -l 0"`},
		"DPDK with memory for each guest": {ovsConfig{DPDK: huge, MTU: 1500, PollCPUs: []int{1}, Ports: []ovsPort{{Socket: "a"}, {Socket: "b"}}},
			`--no-wait init -- set Open_vSwitch . other_config:pmd-cpu-mask=0x2 other_config:dpdk-init=true ` +
				`other_config:dpdk-extra="--iova-mode=va --no-telemetry --file-prefix=p.l --in-memory --single-file-segments --socket-mem=0,256 --no-pci --socket-limit=0,256 -l 0" ` +
				`other_config:per-port-memory=true`},
		"DPDK without memory for each guest's long frames": {ovsConfig{DPDK: huge, MTU: 9000, PollCPUs: []int{1}, Ports: []ovsPort{{Socket: "a"}, {Socket: "b"}}},
			`--no-wait init -- set Open_vSwitch . other_config:pmd-cpu-mask=0x2 other_config:dpdk-init=true ` +
				`other_config:dpdk-extra="--iova-mode=va --no-telemetry --file-prefix=p.l --in-memory --single-file-segments --socket-mem=0,256 --no-pci --socket-limit=0,256 -l 0"`},
		"DPDK without": {ovsConfig{DPDK: small, PollCPUs: []int{1}, HousekeepingCPU: 3},
			`--no-wait init -- set Open_vSwitch . other_config:pmd-cpu-mask=0x2 other_config:dpdk-init=true ` +
				`other_config:dpdk-extra="--iova-mode=va --no-telemetry --file-prefix=p.l --no-shconf --no-huge -m64 --no-pci --legacy-mem -l 3"`},
	}
	for name, test := range tests {
		if got := strings.Join(test.config.start(), " "); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, test.want)
		}
	}
}

func TestOVSBridge(t *testing.T) {
	learning := "other_config:mac-aging-time=3600 other_config:mac-table-size=1048576"
	tests := map[string]struct {
		config ovsConfig
		want   string
	}{
		"the kernel's ports": {ovsConfig{Datapath: ovsKernelDatapath, Ports: []ovsPort{{Name: "l-a", Type: ovsAFPacket}}},
			"add-br br0 -- set Bridge br0 datapath_type=system " + learning +
				" -- add-port br0 l-a -- set Interface l-a type=system ofport_request=1"},
		"vhost-user and AF_XDP, with flows": {
			ovsConfig{Datapath: ovsUserDatapath, MTU: 9000, Forwarding: spec.ForwardingFlows, Ports: []ovsPort{
				{Name: "p1", Type: ovsVhostUser, Socket: "/run/a b/s"}, {Name: "l-b", Type: ovsAFXDP},
			}},
			"add-br br0 -- set Bridge br0 datapath_type=netdev " + learning + " fail_mode=secure" +
				` -- add-port br0 p1 -- set Interface p1 type=dpdkvhostuserclient ofport_request=1 options:vhost-server-path="/run/a b/s" mtu_request=9000` +
				" -- add-port br0 l-b -- set Interface l-b type=afxdp ofport_request=2 options:n_rxq=1"},
	}
	for name, test := range tests {
		if got := strings.Join(test.config.bridge(), " "); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, test.want)
		}
	}
}

func TestOVSFlows(t *testing.T) {
	two := []ovsPort{{Name: "a"}, {Name: "b"}}
	flows, err := ovsConfig{Forwarding: spec.ForwardingFlows, Ports: two}.flows()
	if want := []string{"in_port=1,actions=output:2", "in_port=2,actions=output:1"}; err != nil || !slices.Equal(flows, want) {
		t.Errorf("got %q, %v", flows, err)
	}
	if flows, err := (ovsConfig{Forwarding: spec.ForwardingNormal, Ports: two}).flows(); err != nil || len(flows) != 0 {
		t.Errorf("normal: got %q, %v", flows, err)
	}
	if _, err := (ovsConfig{Forwarding: spec.ForwardingFlows, Ports: append(two, ovsPort{})}).flows(); err == nil {
		t.Error("three ports have no one port to go to")
	}
}

// TestNothingOfOVSIsOutsideItsFolder checks that every path is in the instance's own folder.
func TestNothingOfOVSIsOutsideItsFolder(t *testing.T) {
	f := ovsFiles{"/lab/switches/l"}
	all := slices.Concat(f.serverArguments(), f.switchArguments(), f.environment(), []string{f.management()})
	for _, a := range all {
		if at := strings.Index(a, "/"); at >= 0 && !strings.HasPrefix(a[at:], f.dir) {
			t.Errorf("%s leads elsewhere", a)
		}
	}
	for _, name := range []string{"OVS_RUNDIR", "OVS_DBDIR", "OVS_LOGDIR", "OVS_SYSCONFDIR", "RUNTIME_DIRECTORY"} {
		if !slices.Contains(f.environment(), name+"="+f.dir) {
			t.Errorf("%s is not set", name)
		}
	}
}

func TestOVSLeastMemory(t *testing.T) {
	// Seen with 3.1: 64 MiB suffice for 1500 bytes, 48 do not.
	if least := ovsLeastMemory(1500); least > 64<<20 || least <= 48<<20 {
		t.Errorf("%d MiB for an MTU of 1500", least>>20)
	}
	if least := ovsLeastMemory(9000); least < 150<<20 {
		t.Errorf("%d MiB for an MTU of 9000", least>>20)
	}
}

func TestQuoteOVS(t *testing.T) {
	if got := quoteOVS(`a "b" \c`); got != `"a \"b\" \\c"` {
		t.Error(got)
	}
}
