package host

import (
	"context"
	"net"
	"slices"
	"testing"

	"nines.dev/nines/test/labtest"
)

// TestProbe: the features are marked as probed, and the probe leaves no device behind.
func TestProbe(t *testing.T) {
	inv, err := Read()
	if err != nil {
		t.Fatal(err)
	}
	labtest.Require(t, "CAP_SYS_ADMIN", slices.Contains(inv.Privileges.Capabilities, "sys_admin"))
	before := interfaceNames(t)
	features, err := Probe(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range interfaceNames(t) { // other tests may run and make theirs
		if slices.Contains([]string{"a", "b", "br", "mac", "vlan", "vx", "tap"}, name) && !slices.Contains(before, name) {
			t.Errorf("the probe left the interface %s", name)
		}
	}
	for _, f := range features {
		if !f.Probed {
			t.Errorf("%s was not tried", f.Name)
		}
		// If the configuration has a feature built in and a try of it fails, we
		// read one of the two wrongly.
		if read := inv.Feature(f.Name); read.State == StateYes && f.State == StateNo {
			t.Errorf("%s: read as %s (%s), but %s", f.Name, read.State, read.Detail, f.Detail)
		}
	}
	inv.SetFeatures(features)
	if f := inv.Feature(FeatureNetns); !f.Probed || f.State != StateYes {
		t.Errorf("netns is %+v after the probe", f)
	}
}

func interfaceNames(t *testing.T) []string {
	t.Helper()
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, i := range interfaces {
		names = append(names, i.Name)
	}
	return names
}
