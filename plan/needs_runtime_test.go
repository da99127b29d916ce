package plan

import (
	"slices"
	"testing"

	"nines.dev/nines/host"
	"nines.dev/nines/spec"
)

// Each feature in a runtime's descriptor exists in package host.
func TestRuntimesNeedWhatHostsCanHave(t *testing.T) {
	inv, err := host.Read()
	if err != nil {
		t.Fatal(err)
	}
	for _, runtime := range []spec.Runtime{spec.RuntimeNetns, spec.RuntimeLXC, spec.RuntimeHost, spec.RuntimeVM, spec.RuntimePod} {
		for _, name := range runtime.Descriptor().Needs {
			if !slices.ContainsFunc(inv.Features, func(f host.Feature) bool { return f.Name == name }) {
				t.Errorf("%s needs %q, of which no host reports whether it has it", runtime, name)
			}
		}
	}
}
