package cni

import (
	"encoding/json"
	"testing"

	"nines.dev/nines/cluster/port"
	"nines.dev/nines/spec"
)

func TestMultusIsToldInTheWordsOfItsSpecification(t *testing.T) {
	held := func(tier spec.LinkKind, address string) port.Held {
		return port.Held{Order: port.Order{Port: port.Port{Name: "p", Tier: tier, Parent: "not-there"}, Mount: "/run/x"}, PCI: address}
	}
	for want, h := range map[string]port.Held{
		`{"type":"pci","version":"1.1.0","pci":{"pci-address":"0000:01:10.1"}}`:                    held(spec.LinkSRIOV, "0000:01:10.1"),
		`{"type":"vhost-user","version":"1.1.0","vhost-user":{"mode":"client","path":"/run/x/s"}}`: held(spec.LinkSwitch, ""),
		`{"type":"vhost-user","version":"1.1.0","vhost-user":{"mode":"server","path":"/run/x/s"}}`: held(spec.LinkOVSDPDK, ""),
		`null`: held(spec.LinkMacvlan, ""),
	} {
		if text, err := json.Marshal(infoOf(h)); err != nil || string(text) != want {
			t.Errorf("%s, %v, not %s", text, err, want)
		}
	}
}
