package dryrun

import (
	"fmt"
	"strings"
	"testing"

	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/test/plans"
)

func TestStepsSayHowCPUsAreIsolated(t *testing.T) {
	p := plans.Of(t, `
name: isolated
isolation: isolated
topology:
  nodes:
    gen: {runtime: netns, cpus: 1}
    dut: {runtime: lxc, cpus: 1, memory: 256MiB, hugepage_limit: 64MiB, app: {kind: reflect, backend: raw}}
  links: [{name: in, endpoints: ["gen:tx", "dut:in"]}]
`)
	steps := strings.Join(Steps(p), "\n")
	for _, want := range []string{
		"isolation: make the CPUs " + cpulist.Format(p.IsolatedCPUs) + " a partition (isolated)",
		"isolation: keep unbound workqueues, interrupts", "take the kernel's movable threads off",
		fmt.Sprintf("node dut: control group %s/%s-dut with CPUs", p.Prefix, p.Prefix), "at most 32 hugepages of 2048 KiB",
	} {
		if !strings.Contains(steps, want) {
			t.Errorf("no step says %q:\n%s", want, steps)
		}
	}
}
