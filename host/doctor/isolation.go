package doctor

import (
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/host"
	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

var isolation = subject{"isolation", (*judge).isolation, []findingKind{
	{"not-isolated", "any process may run on the CPUs", "it stays for a slice"},
	{"no-cpuset", "there is no cpuset controller", "nines cannot keep others away"},
	{"cpuset-v1", "control groups are of version 1", "there are no partitions"},
	{"no-isolated-partitions", "the kernel is older than 6.1", "load balancing goes on in partitions"},
	{"isolcpus", "CPUs are permanently out of load balancing", "a container's threads do not spread; partitions refuse such CPUs"},
	{"cset", "another program holds exclusive cpusets", "nodes do not get these CPUs"},
}}

// isolation looks at how far the chosen CPUs are, or can be, kept free of all other work.
func (j *judge) isolation() {
	j.shared()
	j.partitions()
	j.bootIsolation()
	j.shield()
}

// shared judges CPUs that any process may run on.
func (j *judge) shared() {
	open := j.own(func(c host.CPU) bool { return !c.Isolated && !contains(j.scope.Apart, c.ID) })
	if len(open) == 0 {
		return
	}
	evidence := []Evidence{{"/sys/devices/system/cpu/isolated", "does not have " + list(open)}}
	var remedies []Remedy
	if cpuset, ok := j.inv.Cgroup.Controller("cpuset"); ok {
		degree := spec.IsolationIsolated
		if cpuset.Version == 2 && !j.inv.Kernel.AtLeast(6, 1) {
			degree = spec.IsolationPartition // the strongest that this kernel offers
		}
		remedies = append(remedies, Remedy{Text: fmt.Sprintf("set them apart while an experiment runs: isolation: %s in its file, or --set isolation=%[1]s", degree)})
	}
	if j.scope.Isolation != "" {
		evidence = append(evidence, Evidence{"the experiment", "isolation: " + string(j.scope.Isolation)})
	}
	if plan.Partitions(j.scope.Isolation) {
		remedies = []Remedy{{Text: "use a host with more CPUs: the CPUs that nodes do not have exclusively also serve the host"}}
	}
	j.find(Finding{
		ID: "not-isolated", Severity: host.SeverityWarning, CPUs: open,
		Title:    "any process may run on " + namedCPUs(open),
		Evidence: evidence,
		Why:      "The scheduler spreads threads over all CPUs, so a host program takes the CPU from a program that handles packets, for a slice at a time.",
		Cost:     &Cost{FromUS: threadUS, ToUS: sliceUS, When: "whenever more threads are runnable than the other CPUs can run", Basis: BasisComputed, Source: sliceSource},
		Remedies: append(remedies, j.boot("or for good", "isolcpus=managed_irq,domain,"+j.target())),
		Source:   thesis + ", 6.2.5 and figures 6.7 and 6.8; Documentation/admin-guide/cgroup-v2.rst, cpuset.cpus.partition",
	})
}

// partitions judges whether control groups can take CPUs out of load balancing.
func (j *judge) partitions() {
	cpuset, ok := j.inv.Cgroup.Controller("cpuset")
	modern := j.boot("boot with cgroup version 2 alone, where systemd mounts it", "systemd.unified_cgroup_hierarchy=1")
	switch {
	case !ok && plan.Partitions(j.scope.Isolation): // plan.Needs reports it
	case !ok:
		j.find(Finding{
			ID: "no-cpuset", Severity: host.SeverityWarning,
			Title:    "no cpuset controller is mounted, so CPUs cannot be reserved for nodes",
			Evidence: []Evidence{{"/proc/mounts", "cgroups: " + j.inv.Cgroup.Mode}},
			Why:      "A node's processes can be pinned, but other processes cannot be kept away.",
			Cost:     &Cost{FromUS: threadUS, ToUS: sliceUS, When: "whenever something else runs there", Basis: BasisComputed, Source: sliceSource},
			Remedies: []Remedy{{Text: "mount control groups", Commands: []string{"mount -t cgroup2 cgroup2 /sys/fs/cgroup"}}, modern},
			Source:   "Documentation/admin-guide/cgroup-v2.rst",
		})
	case cpuset.Version == 1:
		evidence := []Evidence{{"/proc/mounts", "cpuset is at " + cpuset.Path + ", version 1"}}
		if value, known := j.setting(cpuset.Path + "/cpuset.sched_load_balance"); known {
			evidence = append(evidence, Evidence{cpuset.Path + "/cpuset.sched_load_balance", value})
		}
		j.find(Finding{
			ID: "cpuset-v1", Severity: host.SeverityNote,
			Title:    "control groups for CPUs are of version 1, which has no partitions",
			Evidence: evidence,
			Why:      "To isolate CPUs, all processes of the host must be moved into a separate group, and load balancing is switched off at the root. Kernel threads that cannot move stay.",
			Remedies: []Remedy{modern, {Text: "or keep it: on version 1, isolation: isolated does this, and restores it afterwards"}},
			Source:   "Documentation/admin-guide/cgroup-v1/cpusets.rst, 1.4 and 1.7",
		})
	case !j.inv.Kernel.AtLeast(6, 1):
		f := Finding{
			ID: "no-isolated-partitions", Severity: host.SeverityWarning,
			Title:    "Linux " + j.inv.Kernel.Release + " has no isolated partitions of CPUs, which came with 6.1",
			Evidence: []Evidence{{"/proc/sys/kernel/osrelease", j.inv.Kernel.Release}, {"/proc/mounts", "cpuset is at " + cpuset.Path + ", version 2"}},
			Why:      "A partition of type root keeps others' processes out, but the scheduler's load balancing still runs on its CPUs, and moves kernel threads there.",
			Cost:     &Cost{FromUS: threadUS, ToUS: 120, When: "at times, when the host runs something", Basis: BasisPublished, Source: thesis + ", 6.2.3 to 6.2.5: spikes in containers that VMs with isolcpus do not have; 100 to 120 µs at worst with a real-time kernel"},
			Remedies: []Remedy{
				j.boot("take them out of load balancing at boot; partitions of type root then refuse them from 6.7 on", "isolcpus=managed_irq,domain,"+j.target()),
				j.kernelPackage("boot Linux 6.1 or newer, such as Debian 11's backports have", "-t bullseye-backports linux-image-"+debianArch(j.inv)),
			},
			Source: "Documentation/admin-guide/cgroup-v2.rst, cpuset.cpus.partition (isolated: since 6.1); " + thesis + ", 6.2.3",
		}
		if j.scope.Isolation == spec.IsolationIsolated {
			f.Severity, f.Cost = host.SeverityError, nil
			f.Why += " isolation: isolated needs more, and is refused."
			f.Remedies = append([]Remedy{{Text: "use less: --set isolation=partition"}}, f.Remedies...)
		}
		j.find(f)
	}
}

// bootIsolation notes isolcpus, which conflicts with cpusets that balance load.
func (j *judge) bootIsolation() {
	value, given := j.inv.Kernel.Parameter("isolcpus")
	if !given {
		return
	}
	// "managed_irq,domain,2-5": flags come before the list.
	parts := strings.Split(value, ",")
	for len(parts) > 0 && strings.Trim(parts[0], "0123456789-:/") != "" {
		parts = parts[1:]
	}
	flags := strings.TrimSuffix(strings.TrimSuffix(value, strings.Join(parts, ",")), ",")
	if flags != "" && !strings.Contains(flags, "domain") {
		return // it keeps load balancing on
	}
	cpus, err := cpulist.Parse(strings.Join(parts, ","))
	if err != nil || !slices.ContainsFunc(j.scope.CPUs, func(id int) bool { return contains(cpus, id) }) {
		return
	}
	severity := host.SeverityNote
	if j.scope.Isolation == spec.IsolationPartition {
		severity = host.SeverityWarning
	}
	j.find(Finding{
		ID: "isolcpus", Severity: severity,
		Title:    "isolcpus keeps " + namedCPUs(cpus) + " out of load balancing for good",
		Evidence: []Evidence{{"/proc/cmdline", "isolcpus=" + value}},
		Why:      "Threads of one container stay on the CPU that they start on, and do not spread over its others; and from 6.7 on the kernel lets a partition have such CPUs only if it is of type isolated.",
		Remedies: []Remedy{
			{Text: "pin each thread, as engines of nines are, and use isolation: isolated, not partition"},
			{Text: "or leave isolcpus out of the kernel's command line, and let isolated partitions do it while an experiment runs", Commands: []string{j.tunePlan()}, Reboot: true},
		},
		Source: kernelParameters + " (isolcpus); kernel/cgroup/cpuset.c, commit 4a74e418881f; " + thesis + ", 5.5.3 and 6.2.4",
	})
}

// shield finds what cset(1) leaves in cpusets of version 1.
func (j *judge) shield() {
	for _, group := range []string{"user", "system"} {
		cpuset, ok := j.inv.Cgroup.Controller("cpuset")
		if !ok || cpuset.Version != 1 {
			return
		}
		path := fmt.Sprintf("%s/%s/cpuset.cpu_exclusive", cpuset.Path, group)
		if value, _ := j.setting(path); value != "1" {
			continue
		}
		j.find(Finding{
			ID: "cset", Severity: host.SeverityWarning,
			Title:    "another program reserves CPUs by exclusive cpusets (cset shield makes such)",
			Evidence: []Evidence{{path, "1"}},
			Why:      "CPUs of an exclusive cpuset cannot be in another one, so nodes of a lab do not get them.",
			Remedies: []Remedy{{Text: "take the shield down", Commands: []string{"cset shield --reset"}}},
			Source:   "cset-shield(1); Documentation/admin-guide/cgroup-v1/cpusets.rst, 1.4",
		})
		return
	}
}
