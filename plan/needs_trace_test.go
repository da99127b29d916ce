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
