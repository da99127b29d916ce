package doctor

import (
	"fmt"

	"nines.dev/nines/host"
)

var virtual = subject{"virtual", (*judge).virtual, []findingKind{
	{"hypervisor", "the machine is virtual", "its CPUs are threads of another kernel, which runs other threads in their place"},
	{"halt-exits", "an idle virtual CPU halts", "the hypervisor has to wake it, 5 to 50 µs"},
	{"container", "nines runs in a container", "the host's settings cannot be seen or changed"},
}}

// virtual looks for a hypervisor and a container around the machine.
func (j *judge) virtual() {
	if j.inv.Virtualisation.Hypervisor != "" {
		j.hypervisor()
		j.halts()
	}
	if name := j.inv.Virtualisation.Container; name != "" {
		j.find(Finding{
			ID: "container", Severity: host.SeverityWarning,
			Title:    "nines runs in a container (" + name + ")",
			Evidence: []Evidence{{"/proc/self/ns/pid, /run", name}},
			Why:      "A container sees its own part of the host: interrupts, boot parameters and control groups of the host cannot be changed from here, and other programs on it are not visible.",
			Remedies: []Remedy{{Text: "run nines on the host itself"}},
			Source:   "cgroup_namespaces(7), pid_namespaces(7)",
		})
	}
}

func (j *judge) hypervisor() {
	name := j.inv.Virtualisation.Hypervisor
	evidence := []Evidence{{"/proc/cpuinfo, /sys/class/dmi", "the hypervisor is " + name}}
	for _, u := range j.inv.Usage {
		if contains(j.scope.CPUs, u.CPU) && u.Total > 0 {
			evidence = append(evidence, Evidence{fmt.Sprintf("/proc/stat, CPU %d", u.CPU),
				fmt.Sprintf("%.2g s were stolen in %.3g h", float64(u.Steal)/100, float64(u.Total)/100/3600)})
		}
		if len(evidence) > mostNamed {
			break
		}
	}
	j.find(Finding{
		ID: "hypervisor", Severity: host.SeverityWarning,
		Title:    "a hypervisor (" + name + ") takes CPUs away at times",
		Evidence: evidence,
		Why:      "The machine's CPUs are threads of another kernel, which runs others in their place without notice. Many timers, interrupts and idle periods also exit to the hypervisor.",
		Cost:     &Cost{FromUS: 1, ToUS: sliceUS, When: "at any time", Basis: BasisComputed, Source: "an exit takes about a microsecond, and another thread on the CPU a slice: " + sliceSource},
		Remedies: []Remedy{
			{Text: "measure on bare metal, or on a whole machine of the provider's (a metal instance)"},
			{Text: "otherwise ask the hypervisor's operator to pin the machine's CPUs to dedicated CPUs, and read the verdict of each trial: it reports the gaps"},
		},
		Source: "proc_stat(5), steal; " + thesis + ", 6.2",
	})
}

// halts judges virtual CPUs that exit to the hypervisor when they are idle.
func (j *judge) halts() {
	if idle, _ := j.inv.Kernel.Parameter("idle"); idle == "poll" || !j.scope.Sleeps {
		return
	}
	const path = "/sys/module/haltpoll/parameters/guest_halt_poll_ns"
	polls, known := j.setting(path)
	if known && polls != "0" {
		return
	}
	evidence := []Evidence{{"/sys/devices/system/cpu/cpuidle/current_driver", orUnread(j.inv.CPUIdle.Driver, "none")}}
	remedies := []Remedy{j.boot("poll instead of halting; each CPU then looks busy to the hypervisor", "idle=poll")}
	if known {
		evidence = append(evidence, Evidence{path, polls})
		remedies = append([]Remedy{{Text: "poll for 200 µs before halting", Commands: []string{"echo 200000 > " + path}}}, remedies...)
	}
	j.find(Finding{
		ID: "halt-exits", Severity: host.SeverityWarning,
		Title:    "an idle CPU halts, which hands it to the hypervisor",
		Evidence: evidence,
		Why:      "A packet that finds its CPU halted waits until the hypervisor has woken the thread of this virtual CPU and entered the machine.",
		Cost:     &Cost{FromUS: 5, ToUS: 50, When: "at a packet that finds its CPU idle, so mostly at low rates", Basis: BasisEstimate, Source: "in a machine of KVM, a UDP echo over veth took 29.7 µs at the median, and 19.5 µs with a program that kept the server's CPU from halting"},
		Remedies: remedies,
		Source:   "Documentation/virt/guest-halt-polling.rst; Documentation/virt/kvm/halt-polling.rst",
	})
}
