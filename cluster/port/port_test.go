package port

import (
	"net/netip"
	"strings"
	"testing"

	"nines.dev/nines/spec"
)

func TestWhatCannotBeAPortIsRefusedWithARemedy(t *testing.T) {
	good := Port{Name: "macvlan-eth0-1", Tier: spec.LinkMacvlan, Parent: "eth0"}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for words, change := range map[string]func(*Port){
		"cannot be the name of a port":          func(p *Port) { p.Name = "../../etc" },
		"the tier \"teleport\" has no ports":    func(p *Port) { p.Tier = "teleport" },
		"give the name of a network card":       func(p *Port) { p.Parent = "a/b" },
		"an MTU of 70000":                       func(p *Port) { p.MTU = 70000 },
		"give the control socket of the switch": func(p *Port) { p.Tier = spec.LinkSwitch },
		"cannot be its parent":                  func(p *Port) { p.Parent = ".." },
	} {
		p := good
		change(&p)
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%+v: %v, which does not say %q", p, err, words)
		}
	}
}

func TestInterfacesHaveNamesThatTheKernelTakes(t *testing.T) {
	for name, good := range map[string]bool{
		"net1": true, "eth0.7": true, "": false, "lo": false, "a/b": false, "..": false, "all": false, "sixteen-letters!": false,
		"0123456789abcde": true, "0123456789abcdef": false, "net%d": false, "net 1": false,
	} {
		if err := CheckInterface(name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestASocketHasAPathThatTheKernelTakes(t *testing.T) {
	k := Keeper{Folder: "/" + strings.Repeat("f", 100)}
	for tier, short := range map[spec.LinkKind]bool{spec.LinkSwitch: false, spec.LinkOVSDPDK: false, spec.LinkMemif: true, spec.LinkMacvlan: true} {
		err := k.check(Port{Name: "p-1", Tier: tier, Parent: "p"})
		if (err == nil) != short || err != nil && !strings.Contains(err.Error(), "choose a shorter folder for the node's ports") {
			t.Errorf("%s: %v", tier, err)
		}
	}
	o := Order{Holder: "h", Mount: "/" + strings.Repeat("m", 104), Port: Port{Name: "memif-1", Tier: spec.LinkMemif, Parent: MemoryParent}}
	if err := o.Check(); err != nil {
		t.Errorf("107 bytes: %v", err)
	}
	if o.Mount += "m"; o.Check() == nil {
		t.Error("108 bytes are taken")
	}
}

func TestMACsAreOfOneDeviceAndDiffer(t *testing.T) {
	seen := map[string]bool{}
	for _, holder := range []string{"a", "b", "ab"} {
		for _, port := range []string{"p", "q", "bp"} {
			mac := madeMAC(holder, port)
			if seen[mac] || mac != madeMAC(holder, port) {
				t.Errorf("%s of %s %s: twice, or another each time", mac, holder, port)
			}
			seen[mac] = true
			// The second digit of a locally administered address of one device.
			if !strings.ContainsRune("26ae", rune(mac[1])) {
				t.Errorf("%s is a group's, or a vendor's", mac)
			}
		}
	}
}

func TestAnOrderIsTheSameOnlyIfAllOfItIs(t *testing.T) {
	one := Order{Holder: "h", Interface: "net1", Addresses: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/24")}, Port: Port{Tier: spec.LinkMacvlan}}
	if !one.same(one) {
		t.Error("an order is not the same as itself")
	}
	for _, change := range []func(*Order){
		func(o *Order) { o.Holder = "other" },
		func(o *Order) { o.Interface = "net2" },
		func(o *Order) { o.Addresses = nil },
		func(o *Order) { o.Pod.UID = "another" },
		func(o *Order) { o.Port.MTU = 9000 },
		func(o *Order) { o.Routes = []Route{{To: netip.MustParsePrefix("10.1.0.0/16")}} },
	} {
		other := one
		if change(&other); one.same(other) {
			t.Errorf("%+v passes for %+v", other, one)
		}
	}
}
