package ethtool_test

import (
	"errors"
	"os"
	"testing"

	"nines.dev/nines/kernel/ethtool"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/test/labtest"
)

func TestFeaturesOfLoopbackHaveNames(t *testing.T) {
	s, err := ethtool.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	features, err := s.ByName("lo")
	if err != nil {
		t.Fatal(err)
	}
	// The loopback cannot change its namespace, a fixed feature (NETIF_F_NETNS_LOCAL).
	if gro, ok := features["rx-gro"]; !ok || len(features) < 30 {
		t.Errorf("rx-gro %+v among %d", gro, len(features))
	}
	if err := s.Request("lo", "tx-carrier-pigeon", true); !errors.Is(err, ethtool.ErrNoFeature) {
		t.Errorf("a feature that there is not: %v", err)
	}
}

// TestRequestChangesOneFeatureAlone: the ioctl for TSO would change five.
func TestRequestChangesOneFeatureAlone(t *testing.T) {
	labtest.Require(t, "root", os.Geteuid() == 0)
	ns, err := netns.New()
	if err != nil {
		t.Fatal(err)
	}
	defer ns.Close()
	if err := ns.Do(func() error { return requestOne(t) }); err != nil {
		t.Fatal(err)
	}
}

func requestOne(t *testing.T) error {
	s, err := ethtool.Open()
	if err != nil {
		return err
	}
	defer s.Close()
	before, err := s.ByName("lo")
	if err != nil {
		return err
	}
	const name = "tx-udp-segmentation"
	if err := s.Request("lo", name, !before[name].Requested); err != nil {
		return err
	}
	after, err := s.ByName("lo")
	for feature, was := range before {
		if changed := after[feature].Requested != was.Requested; changed != (feature == name) {
			t.Errorf("%s: was %+v, is %+v", feature, was, after[feature])
		}
	}
	return err
}
