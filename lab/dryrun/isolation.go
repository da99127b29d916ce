package dryrun

import (
	"fmt"

	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/kernel/tasks"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// isolationSteps are the steps that keep other work off the nodes' CPUs. Which interrupts and
// threads that affects is known only when nines does it.
func isolationSteps(add func(string, ...any), p *plan.Plan) {
	if !plan.Partitions(p.Isolation) {
		return
	}
	add("isolation: write down which CPUs each thread of the host may use")
	off := tasks.Set(p.IsolatedCPUs).Plus(p.QuietCPUs).String()
	if p.Isolation == spec.IsolationIsolated {
		add("isolation: keep unbound workqueues, interrupts and the packets of the host's devices off the CPUs %s", off)
	}
	if len(p.IsolatedCPUs) > 0 {
		balance := "root"
		if p.Isolation == spec.IsolationIsolated {
			balance = "isolated"
		}
		add("isolation: make the CPUs %s a partition (%s) of control group %s, below it in one for each node where the kernel can; "+
			"with version 1, a cpuset of their own, and move all of the host's tasks into %s.host", cpulist.Format(p.IsolatedCPUs), balance, p.Prefix, p.Prefix)
	}
	if p.Isolation == spec.IsolationIsolated {
		add("isolation: when the nodes are there, take the kernel's movable threads off the CPUs %s", off)
	}
}

func engineCPU(cpu int) string {
	if cpu < 0 {
		return "any CPU"
	}
	return fmt.Sprintf("CPU %d", cpu)
}
