package host

import (
	"fmt"
	"testing"

	"nines.dev/nines/kernel/pci"
)

// TestNetworks: the file as Linux 6.18 wrote it, with routes of docker and others. Only those in the
// range of management networks are read.
func TestNetworks(t *testing.T) {
	const header = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n"
	for what, c := range map[string]struct{ text, want string }{
		"none":           {"", "[]"},
		"a header":       {header, "[]"},
		"a default":      {header + "eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n", "[]"},
		"docker":         {header + "docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n", "[{172.17.0.0/16 docker0}]"},
		"a lab":          {header + "lab-mgmt\t00D11FAC\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n", "[{172.31.209.0/24 lab-mgmt}]"},
		"a host":         {header + "eth0\t018E10AC\t00000000\t0005\t0\t0\t0\tFFFFFFFF\t0\t0\t0\n", "[{172.16.142.1/32 eth0}]"},
		"another range":  {header + "eth0\t0000A8C0\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0\n", "[]"},
		"one around it":  {header + "tun0\t000000AC\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0\n", "[{172.0.0.0/8 tun0}]"},
		"a redacted one": {"Iface\tDestination\neth0\tredacted\n", "[]"},
		"a broken one":   {header + "eth0\tzz\t0\t0\t0\t0\t0\tzz\t0\t0\t0\n", "[]"},
	} {
		tree := &Recording{Files: map[string]string{pci.RoutesFile: c.text}}
		if got := fmt.Sprint(readNetworks(tree)); got != c.want {
			t.Errorf("%s: %s, want %s", what, got, c.want)
		}
	}
}
