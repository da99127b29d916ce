package measure

import (
	"strings"
	"testing"
	"time"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

var load = Load{RatePPS: 1000, FrameBytes: 64, Duration: 5 * time.Second}

// TestTheExperimentOfEveryTierIsOne parses what nines will be given.
func TestTheExperimentOfEveryTierIsOne(t *testing.T) {
	tiers, err := Tiers([]string{"veth", "bridge", "macvlan", "xdp", "memif", "switch"})
	if err != nil {
		t.Fatal(err)
	}
	for _, tier := range tiers {
		text := Experiment(tier, load)
		file, err := spec.Load("agent.yaml", []byte(text))
		if err == nil {
			_, err = file.Runs()
		}
		if err != nil {
			t.Errorf("%s: %v\n%s", tier.Name(), err, text)
		}
	}
}

// TestAllTiers are all that a node may have: which it has is found out.
func TestAllTiers(t *testing.T) {
	tiers, err := Tiers([]string{AllTiers})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, tier := range tiers {
		seen[tier.Name()] = true
		if tier.Kind.Descriptor().Remote || tier.Kind.Descriptor().End == spec.EndDevice {
			t.Errorf("%s is among them", tier.Name())
		}
		if _, err := spec.Load("agent.yaml", []byte(Experiment(tier, load))); err != nil {
			t.Errorf("%s: %v", tier.Name(), err)
		}
	}
	if !seen["veth"] || !seen["sriov"] || !seen["ovn"] || len(seen) != len(tiers) {
		t.Errorf("%v", seen)
	}
	if _, err := Tiers([]string{AllTiers, "veth"}); exit.Code(err) != exit.Wrong {
		t.Errorf("all and one more: %v", err)
	}
}

func TestATierThatIsNoLinkKindIsRefused(t *testing.T) {
	if _, err := Tiers([]string{"veth", "warp"}); exit.Code(err) != exit.Wrong || !strings.Contains(err.Error(), `"warp"`) || !strings.Contains(err.Error(), "macvlan") {
		t.Errorf("%v", err)
	}
	// A network that the cluster made is not made by nines within a node.
	if _, err := Tiers([]string{string(spec.LinkPodNetwork)}); exit.Code(err) != exit.Wrong {
		t.Errorf("the network of pods: %v", err)
	}
}

func TestOnlyWhatTheHostHasIsOffered(t *testing.T) {
	tiers, err := Tiers([]string{"veth", "macvlan", "xdp"})
	if err != nil {
		t.Fatal(err)
	}
	inv := &host.Inventory{Features: []host.Feature{
		{Name: host.FeatureVeth, State: host.StateYes},
		{Name: host.FeatureMacvlan, State: host.StateNo},
		{Name: host.FeatureXDPVeth, State: host.StateUnknown}, // a trial finds out
	}}
	offered, missing := Offered(inv, tiers, nil)
	if len(offered) != 2 || offered[0].Name() != "veth" || offered[1].Name() != "xdp" {
		t.Errorf("offered: %v", offered)
	}
	if len(missing) != 1 || !strings.Contains(missing["macvlan"], "macvlan") {
		t.Errorf("missing: %v", missing)
	}
}
