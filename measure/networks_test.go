package measure

import (
	"testing"

	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

// TestNetworksAreCounted: trials at other rates share a network, and those of two kinds in turn need a new one each time.
func TestNetworksAreCounted(t *testing.T) {
	inventory, err := host.Read()
	if err != nil {
		t.Fatal(err)
	}
	for sweep, want := range map[string]int{
		"{traffic.rate_pps: [1000, 2000]}":                               1,
		"{links.*.kind: [veth, bridge]}":                                 4,
		"{links.*.kind: [veth, bridge], traffic.rate_pps: [1000, 2000]}": 4,
	} {
		file, err := spec.Load("lab.yaml", []byte("name: counted\nrepeat: 2\ntopology:\n  nodes: {a: , b: }\n  links: [{endpoints: [\"a:x\", \"b:x\"]}]\n"+
			"traffic: {from: \"a:x\", to: \"b:x\", rate_pps: 1000}\nsweep: "+sweep+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		experiment, err := Prepare(file, inventory)
		if err != nil {
			t.Fatal(err)
		}
		if got := experiment.Networks(); got != want {
			t.Errorf("%s: %d networks, not %d", sweep, got, want)
		}
	}
}
