package plan

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nines.dev/nines/spec"
)

// TestPower: each node that can be switched has a port, in the order of names, and the table says it.
func TestPower(t *testing.T) {
	file, err := spec.Load("power.yaml", []byte(`
name: switched
topology:
  nodes: {c: {}, a: {runtime: lxc}, h: {runtime: host}, b: {}}
power: {protocols: [redfish, ipmi], address: "::1", first_port: 7000, user: admin, password_file: /p}
`))
	if err != nil {
		t.Fatal(err)
	}
	e, err := file.Experiment()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Make(e, loadHost(t, "xeon-e5-2640v4"))
	if err != nil {
		t.Fatal(err)
	}
	want := &Power{
		Address: "::1", User: "admin", PasswordFile: "/p", Redfish: "https://[::1]:8443",
		Nodes: []PowerNode{{"a", 7000}, {"b", 7001}, {"c", 7002}},
	}
	if diff := cmp.Diff(want, p.Power); diff != "" {
		t.Error(diff)
	}
	if host, has := p.Power.RedfishHost(); !has || host != "[::1]:8443" {
		t.Errorf("Redfish is at %q, %v", host, has)
	}
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"udp [::1]:7001", "https://[::1]:8443/redfish/v1/Systems/b", "admin"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the plan does not say %q:\n%s", want, out.String())
		}
	}
}

// TestPowerOnTheManagementNetwork: it is served at the host's address there, for the network's clients.
func TestPowerOnTheManagementNetwork(t *testing.T) {
	e := managed(func(m *spec.Management) { m.Subnet = "172.16.142.0/24" })
	e.Power = &spec.Power{
		Protocols: []spec.PowerProtocol{spec.PowerIPMI, spec.PowerRedfish}, Address: spec.PowerOnManagement, FirstPort: 6001, RedfishPort: 8443,
		RedfishScheme: spec.RedfishHTTPS, User: "admin", PasswordFile: "/p",
	}
	p := planManaged(t, e).Power
	if p.Address != "172.16.142.1" || p.Subnet != "172.16.142.0/24" || p.Redfish != "https://172.16.142.1:8443" || p.IPMI(p.Nodes[0]) != "172.16.142.1:6001" {
		t.Errorf("it is %+v", p)
	}
}
