package link

import (
	"net"
	"slices"
	"strings"
	"testing"
)

// TestHostsOfOVNAreTold: each host has its own address and name, and one database for both.
func TestHostsOfOVNAreTold(t *testing.T) {
	f := ovnFiles{"/run/nines/labs/x, y/switches/lan"}
	for host, want := range [][]string{
		{"external_ids:system-id=host-0", "external_ids:ovn-encap-ip=169.254.0.1", `external_ids:ovn-remote="unix:/run/nines/labs/x, y/switches/lan/ovn.sock"`},
		{"external_ids:system-id=host-1", "external_ids:ovn-encap-ip=169.254.0.2", `external_ids:ovn-remote="unix:/run/nines/labs/x, y/switches/lan/ovn.sock"`},
	} {
		got := f.chassis(host)
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("host %d: no %s in %q", host, w, got)
			}
		}
	}
	if f.host(0).dir == f.host(1).dir {
		t.Error("two hosts have one folder")
	}
}

func TestBridgesOfOVN(t *testing.T) {
	got := strings.Join(ovnBridges(net.HardwareAddr{2, 0, 0, 0, 0, 1}, "x-lan-0", 1), " ")
	for _, want := range []string{
		`add-br underlay -- set Bridge underlay datapath_type=netdev other_config:hwaddr="02:00:00:00:00:01"`,
		"add-port underlay eth0", "set Bridge br-int datapath_type=netdev fail_mode=secure",
		"add-port br-int x-lan-0 -- set Interface x-lan-0 external_ids:iface-id=port-1",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
}

func TestTheLogicalSwitchHasAPortOfEachHost(t *testing.T) {
	got := strings.Join(ovnLogicalSwitch([2]string{"02:00:00:00:00:0a", "02:00:00:00:00:0b"}), " ")
	want := "ls-add lan -- lsp-add lan port-0 -- lsp-set-addresses port-0 02:00:00:00:00:0a unknown" +
		" -- lsp-add lan port-1 -- lsp-set-addresses port-1 02:00:00:00:00:0b unknown"
	if got != want {
		t.Errorf("it is %s", got)
	}
}
