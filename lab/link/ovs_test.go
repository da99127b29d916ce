package link

import (
	"encoding/json"
	"strings"
	"testing"

	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

func TestRefusedPorts(t *testing.T) {
	// As ovsdb-server 3.1 writes them.
	tests := map[string]struct{ rows, says string }{
		"all there":   {`{"error":["set",[]],"name":"br0","ofport":65534},{"error":["set",[]],"name":"q-l-0","ofport":1}`, ""},
		"refused":     {`{"error":"could not open network device q-l-0 (No such device)","name":"q-l-0","ofport":-1},{"error":["set",[]],"name":"q-l-1","ofport":2}`, "q-l-0: could not open network device"},
		"not yet set": {`{"error":["set",[]],"name":"q-l-0","ofport":["set",[]]}`, "q-l-0"},
	}
	for name, test := range tests {
		ports, err := readInterfaces(json.NewDecoder(strings.NewReader(`{"error":null,"id":0,"result":[{"rows":[` + test.rows + `]}]}`)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		err = refusedPorts(ports)
		if test.says == "" && err != nil || test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
			t.Errorf("%s: %v, want %q", name, err, test.says)
		}
	}
	for _, text := range []string{
		"", "no", `{"error":null,"result":[{"rows":[["q-l-0"]]}]}`, `{"error":null,"result":[]}`,
		`{"error":"unknown database","result":null}`, `{"error":null,"result":[{"error":"unknown column","details":"No column ofport."}]}`,
	} {
		if _, err := readInterfaces(json.NewDecoder(strings.NewReader(text))); err == nil {
			t.Errorf("%q was taken for a list", text)
		}
	}
}

func TestPortsOfOVS(t *testing.T) {
	veth := plan.Endpoint{Node: "a", Interface: "i", FabricDevice: "q-l-0", Attach: plan.AttachVeth}
	vhost := plan.Endpoint{Node: "b", Interface: "i", Socket: "l.1", Attach: plan.AttachVhost}
	site := &Site{StateDir: "/lab"}
	tests := map[string]struct {
		link     plan.Link
		datapath string
		want     []string
		fails    bool
	}{
		"userspace":    {plan.Link{Kind: spec.LinkOVS, MTU: 1500, Endpoints: []plan.Endpoint{veth}}, ovsUserDatapath, []string{ovsAFXDP}, false},
		"long frames":  {plan.Link{Kind: spec.LinkOVS, MTU: 9000, Endpoints: []plan.Endpoint{veth}}, ovsUserDatapath, []string{ovsAFPacket}, false},
		"the kernel's": {plan.Link{Kind: spec.LinkOVS, MTU: 1500, Endpoints: []plan.Endpoint{veth}}, ovsKernelDatapath, []string{ovsAFPacket}, false},
		"with DPDK":    {plan.Link{Kind: spec.LinkOVSDPDK, MTU: 1500, Endpoints: []plan.Endpoint{veth, vhost}}, ovsUserDatapath, []string{ovsAFXDP, ovsVhostUser}, false},
		"no DPDK":      {plan.Link{Kind: spec.LinkOVS, MTU: 1500, Endpoints: []plan.Endpoint{vhost}}, ovsUserDatapath, nil, true},
	}
	for name, test := range tests {
		o := &ovs{Site: site, link: test.link}
		ports, err := o.ports(test.link.Endpoints, test.datapath)
		if (err != nil) != test.fails {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i, want := range test.want {
			if ports[i].Type != want {
				t.Errorf("%s: port %d is of the type %s, want %s", name, i+1, ports[i].Type, want)
			}
		}
	}
}

func TestOVSWithTooLittleMemory(t *testing.T) {
	l := plan.Link{MTU: 9000, Switch: &plan.Switch{DPDK: &plan.DPDK{MemoryBytes: 64 << 20}}}
	if err := checkOVSMemory(l); err == nil || !strings.Contains(err.Error(), "mtu") {
		t.Errorf("got %v, want what to change", err)
	}
	l.MTU = 1500
	if err := checkOVSMemory(l); err != nil {
		t.Error(err)
	}
}
