package link

import (
	"strings"
	"testing"

	"nines.dev/nines/plan"
)

// TestDnsmasqKnowsOnlyTheLab: its names and addresses, at the bridge; it asks nobody, reads no file of
// the host's, and gives out no route.
func TestDnsmasqKnowsOnlyTheLab(t *testing.T) {
	p := &plan.Plan{
		Name:       "lab",
		Management: &plan.Management{Link: "management", Bridge: "lab-br", Subnet: "172.16.142.0/24", Address: "172.16.142.1", Server: "172.16.142.254"},
		Nodes: []plan.Node{
			{Name: "a", Interfaces: []plan.Interface{
				{Name: "x", Link: "wire", MAC: "02:00:00:00:00:01", Addresses: []string{"198.18.0.1/30"}},
				{Name: "mgmt", Link: "management", MAC: "52:54:00:8e:00:02", Addresses: []string{"172.16.142.2/24"}},
			}},
			{Name: "b", Interfaces: []plan.Interface{{Name: "mgmt", Link: "management", MAC: "52:54:00:8e:00:03", Addresses: []string{"172.16.142.3/24"}}}},
		},
	}
	want := `# By nines, for the management network of the lab lab.
interface=lab-br
except-interface=lo
bind-interfaces
no-resolv
no-hosts
no-poll
user=nobody
group=nogroup
pid-file
log-facility=-
domain=mgmt
local=/mgmt/
dhcp-range=172.16.142.0,static,255.255.255.0,infinite
dhcp-authoritative
leasefile-ro
dhcp-option=option:router
host-record=a.mgmt,172.16.142.2
dhcp-host=52:54:00:8e:00:02,172.16.142.2,a
host-record=b.mgmt,172.16.142.3
dhcp-host=52:54:00:8e:00:03,172.16.142.3,b
`
	if got := dnsmasqConfig(p); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if strings.Contains(dnsmasqConfig(p), "198.18") {
		t.Error("it has an address of a measured link")
	}
}
