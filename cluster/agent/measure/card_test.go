package measure

import (
	"strings"
	"testing"

	"nines.dev/nines/host"
	"nines.dev/nines/kernel/pci"
	"nines.dev/nines/spec"
)

// spare is a card with four functions, of which the first is taken.
func spare() pci.Function {
	f := pci.Function{Address: "0000:01:00.0", Interface: "eth2", Carrier: "yes", TotalVFs: 8, NumVFs: 4, UsedBy: "someone who has set it up"}
	for i := range f.NumVFs {
		f.VFs = append(f.VFs, pci.VirtualFunction{Index: i})
	}
	f.VFs[0].UsedBy = "ports of pods"
	return f
}

func TestFunctionsAreMeasuredOnlyWhereNobodyMissesThem(t *testing.T) {
	tiers, err := Tiers([]string{"sriov"})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func(*pci.Function)
		given  []string
		why    string
	}{
		"two to spare":          {func(*pci.Function) {}, []string{"eth1"}, ""},
		"no SR-IOV":             {func(f *pci.Function) { f.TotalVFs, f.NumVFs, f.VFs = 0, 0, nil }, nil, "no card with SR-IOV"},
		"none made":             {func(f *pci.Function) { f.NumVFs, f.VFs = 0, nil }, nil, "eth2 has 0 of its 0 functions free"},
		"one to spare":          {func(f *pci.Function) { f.VFs[1].UsedBy, f.VFs[2].UsedBy = "a pod", "a lab" }, nil, "eth2 has 1 of its 4"},
		"the uplink":            {func(f *pci.Function) { f.Uplink = true }, nil, "the node's own traffic"},
		"VLANs":                 {func(f *pci.Function) { f.VLANs = []int{7} }, nil, "VLANs"},
		"no cable":              {func(f *pci.Function) { f.Carrier = "no" }, nil, "no carrier"},
		"down":                  {func(f *pci.Function) { f.Carrier = "" }, nil, "no carrier"},
		"driven by a program":   {func(f *pci.Function) { f.Interface = "" }, nil, "no interface"},
		"its functions are for": {func(*pci.Function) {}, []string{"eth2"}, "the ports file"},
	} {
		f := spare()
		test.change(&f)
		offered, missing := Offered(&host.Inventory{Functions: []pci.Function{f}}, tiers, test.given)
		if test.why == "" {
			if len(offered) != 1 || offered[0].Card != "eth2" || len(missing) != 0 {
				t.Errorf("%s: %+v, %v", name, offered, missing)
			}
			continue
		}
		if len(offered) != 0 || !strings.Contains(missing["sriov"], test.why) {
			t.Errorf("%s: offered %v, missing %v", name, offered, missing)
		}
	}
}

// TestATrialNamesTheCard: the plan would otherwise choose one, and make its functions if it has none.
func TestATrialNamesTheCard(t *testing.T) {
	tiers, err := Tiers([]string{"sriov"})
	if err != nil {
		t.Fatal(err)
	}
	uplink, other := spare(), spare()
	uplink.Uplink, other.Interface = true, "eth3"
	offered, _ := Offered(&host.Inventory{Functions: []pci.Function{uplink, other}}, tiers, nil)
	if len(offered) != 1 {
		t.Fatal("not offered")
	}
	file, err := spec.Load("agent.yaml", []byte(Experiment(offered[0], load)))
	if err != nil {
		t.Fatal(err)
	}
	runs, err := file.Runs()
	if err != nil {
		t.Fatal(err)
	}
	s := runs[0].Experiment.Topology.Links[0].SRIOV
	if s == nil || len(s.Ports) != 1 || s.Ports[0] != "eth3" {
		t.Errorf("%+v", s)
	}
}

// TestWholeCardsAreNoTier: a trial would take one from the program that uses it.
func TestWholeCardsAreNoTier(t *testing.T) {
	if _, err := Tiers([]string{"passthrough"}); err == nil || strings.Contains(strings.SplitN(err.Error(), "allowed:", 2)[1], "passthrough") {
		t.Errorf("%v", err)
	}
}
