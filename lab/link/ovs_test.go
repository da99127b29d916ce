package link

import (
	"strings"
	"testing"

	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

func TestRefusedPorts(t *testing.T) {
	// As ovs-vsctl 3.1 writes them.
	const head = `{"headings":["name","ofport","error"],"data":[`
	tests := map[string]struct{ rows, says string }{
		"all there":   {`["br0",65534,["set",[]]],["q-l-0",1,["set",[]]]`, ""},
		"refused":     {`["q-l-0",-1,"could not open network device q-l-0 (No such device)"],["q-l-1",2,["set",[]]]`, "q-l-0: could not open network device"},
		"not yet set": {`["q-l-0",["set",[]],["set",[]]]`, "q-l-0"},
	}
	for name, test := range tests {
		err := refusedPorts([]byte(head + test.rows + `]}`))
		if test.says == "" && err != nil || test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
			t.Errorf("%s: %v, want %q", name, err, test.says)
		}
	}
	for _, text := range []string{"", "ovs-vsctl: no", head + `["q-l-0"]]}`} {
		if refusedPorts([]byte(text)) == nil {
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
