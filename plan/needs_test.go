package plan

import (
	"slices"
	"testing"

	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

func TestTracingNeedsTypesOfTheKernel(t *testing.T) {
	for _, traced := range []bool{true, false} {
		needs := Needs(&spec.Experiment{Trace: traced})
		if has := slices.ContainsFunc(needs.Features, func(n host.Need) bool { return n.Name == host.FeatureBTF }); has != traced {
			t.Errorf("trace: %v has the need %v", traced, has)
		}
	}
}

// Each feature in a link kind's descriptor exists in package host.
func TestLinksNeedWhatHostsCanHave(t *testing.T) {
	inv, err := host.Read()
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range spec.LinkKinds() {
		d := kind.Descriptor()
		features := slices.Clone(d.Needs)
		if d.Program != nil && d.Program.KernelDatapath != "" {
			features = append(features, d.Program.KernelDatapath)
		}
		features = append(features, impairFeatures(d.ImpairBy)...)
		for _, name := range features {
			if !slices.ContainsFunc(inv.Features, func(f host.Feature) bool { return f.Name == name }) {
				t.Errorf("%s needs %q, of which no host reports whether it has it", kind, name)
			}
		}
	}
}
