package doctor

import (
	"fmt"
	"slices"

	"nines.dev/nines/host"
	"nines.dev/nines/terminal"
)

var topology = subject{"topology", (*judge).topology, []findingKind{
	{"cpus", "the machine has one CPU", "all threads wait for one another"},
	{"shared-cpus", "a chosen CPU also does everything else", "there are too few CPUs"},
	{"smt-siblings", "two threads share a core", "each slows the other"},
}}

// topology looks at what CPUs share, and at their number.
func (j *judge) topology() {
	if n := len(j.inv.AllowedCPUs); n < 2 {
		j.find(Finding{
			ID: "cpus", Severity: host.SeverityWarning,
			Title:    fmt.Sprintf("there is %s: generator, nodes and host wait for one another", terminal.Count(n, "usable CPU")),
			Evidence: []Evidence{{"/proc/self/status, Cpus_allowed_list", list(j.inv.AllowedCPUs)}},
			Why:      "A polling thread keeps the CPU until the scheduler preempts it.",
			Cost:     &Cost{FromUS: 100, ToUS: sliceUS, When: "all the time", Basis: BasisComputed, Source: sliceSource},
			Remedies: []Remedy{{Text: "use a machine with two CPUs or more, or give this process more of them (taskset, the container's cpuset)"}},
			Source:   "sched(7)",
		})
	}
	j.sharedWithHost()
	j.siblings()
}

// sharedWithHost judges chosen CPUs that are housekeeping, too.
func (j *judge) sharedWithHost() {
	both := j.those(func(c host.CPU) bool { return contains(j.scope.Housekeeping, c.ID) })
	if len(both) == 0 || len(j.inv.AllowedCPUs) < 2 {
		return
	}
	j.find(Finding{
		ID: "shared-cpus", Severity: host.SeverityWarning, CPUs: both,
		Title:    namedCPUs(both) + choose(len(both) == 1, " handles", " handle") + " packets and does everything else on the host, too",
		Evidence: []Evidence{{"chosen CPUs", list(j.scope.CPUs)}, {"CPUs for everything else", list(j.scope.Housekeeping)}, {"/proc/self/status, Cpus_allowed_list", list(j.inv.AllowedCPUs)}},
		Why:      "Interrupts, the kernel's threads and all other programs have to run somewhere; there they take turns with the packet threads.",
		Cost:     &Cost{FromUS: interruptUS, ToUS: sliceUS, When: "whenever anything else runs", Basis: BasisComputed, Source: sliceSource},
		Remedies: []Remedy{{Text: "use a host with more CPUs, or fewer in the experiment; a generator that shares its CPU is late itself, and send_lag shows by how much"}},
		Source:   "docs/planning.md",
	})
}

// siblings judges chosen CPUs whose core has another thread.
func (j *judge) siblings() {
	var shared, beside []int
	for _, cpu := range j.chosen() {
		for _, sibling := range cpu.Siblings {
			if sibling == cpu.ID {
				continue
			}
			shared = append(shared, cpu.ID)
			if !contains(beside, sibling) {
				beside = append(beside, sibling)
			}
			break
		}
	}
	if len(shared) == 0 {
		return
	}
	slices.Sort(beside)
	// Keeping one thread of each core is enough.
	var keep []int
	for _, id := range j.scope.CPUs {
		cpu, err := j.inv.CPU(id)
		if err == nil && !slices.ContainsFunc(cpu.Siblings, func(s int) bool { return contains(keep, s) }) {
			keep = append(keep, id)
		}
	}
	first := shared[0]
	cpu, _ := j.inv.CPU(first) // it was found above
	j.find(Finding{
		ID: "smt-siblings", Severity: host.SeverityWarning, CPUs: shared,
		Title:    namedCPUs(shared) + " " + choose(len(shared) == 1, "shares its core", "share their cores") + " with another thread",
		Evidence: []Evidence{{fmt.Sprintf("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", first), list(cpu.Siblings)}, {"/sys/devices/system/cpu/smt/control", orUnread(j.inv.SMT, "unknown")}},
		Why:      "Two threads of a core compete for its execution units and share its first-level caches; the other thread's work shows in each packet's time.",
		Cost:     &Cost{FromUS: 0, ToUS: packetUS, When: "at each packet, while the other thread is busy", Basis: BasisEstimate, Source: "half of the core for " + packetSource},
		Remedies: []Remedy{
			{Text: "switch the second threads off, until the next boot; half of the CPUs are gone", Commands: []string{"echo off > /sys/devices/system/cpu/smt/control"}},
			{Text: "use " + namedCPUs(keep) + " only, and leave the other threads of these cores idle"},
			j.boot("leave them off", "nosmt"),
		},
		Source: "Gallenmüller et al. in " + thesis + ", 4.3 and listing 5.13 (nosmt)",
	})
}
