package doctor

import (
	"fmt"

	"nines.dev/nines/host"
)

var scheduler = subject{"scheduler", (*judge).scheduler, []findingKind{
	{"preemption", "the kernel is not real-time", "softirqs run for 2 ms before anything else does"},
	{"rt-throttling", "the kernel stops real-time threads that spin", "50 ms of each second"},
	{"rt-group-sched", "new control groups have no real-time budget", "fifo and rr fail with EPERM there"},
	{"sched-ext", "a BPF program schedules threads", "its behaviour is unknown"},
}}

// scheduler looks at what decides which thread runs, and at what cannot be preempted.
func (j *judge) scheduler() {
	j.preemption()
	j.throttling()
	j.groups()
	const path = "/sys/kernel/sched_ext/state"
	if state, _ := j.setting(path); state == "enabled" {
		j.find(Finding{
			ID: "sched-ext", Severity: host.SeverityWarning,
			Title:    "a BPF program schedules the CPUs",
			Evidence: []Evidence{{path, state}},
			Why:      "Such a scheduler decides by itself about threads on chosen CPUs, load balancing and isolation.",
			Cost:     &Cost{FromUS: 1, ToUS: sliceUS, When: "whenever something else can run there", Basis: BasisEstimate, Source: sliceSource},
			Remedies: []Remedy{{Text: "end the program that loaded it; the kernel's own scheduler takes over", Commands: []string{"systemctl stop scx"}}},
			Source:   "Documentation/scheduler/sched-ext.rst (since 6.12)",
		})
	}
}

// preemption judges kernels with long sections that a thread woken by a packet cannot
// preempt.
func (j *judge) preemption() {
	model := j.inv.Kernel.Preemption
	if model == "" || model == "rt" || j.inv.Kernel.RealTime {
		return
	}
	evidence := []Evidence{{"the kernel's version and configuration", "preemption is " + model}}
	cost := &Cost{FromUS: 10, ToUS: softirqUS, When: "if the kernel is busy on the CPU when a packet wakes a program there", Basis: BasisComputed, Source: softirqSource}
	var remedies []Remedy
	if j.inv.Config["PREEMPT_DYNAMIC"] == "y" && model != "full" {
		remedies = append(remedies, j.boot("let threads interrupt most of the kernel; softirqs stay as they are", "preempt=full"))
	}
	install := j.kernelPackage("boot a kernel with PREEMPT_RT, where softirqs are threads; percentiles up to 99.9 get slightly worse", "linux-image-rt-"+debianArch(j.inv))
	severity := host.SeverityWarning
	if !j.scope.Sleeps {
		severity, cost.When = host.SeverityNote, cost.When+"; not to programs that spin on CPUs of their own"
	}
	j.find(Finding{
		ID: "preemption", Severity: severity,
		Title:    "the kernel is not real-time (preemption: " + model + ")",
		Evidence: evidence,
		Why:      "While the kernel serves an interrupt's softirq, or without preemption anything else, no program runs on that CPU, whatever its priority.",
		Cost:     cost, Remedies: append(remedies, install),
		Source: thesis + ", 6.2.3: a real-time kernel had no spikes, and about 100 µs at worst",
	})
}

// throttling judges what the kernel does to real-time threads that never sleep.
func (j *judge) throttling() {
	stop := j.inv.RealTimeStop()
	if stop.By == "" || j.inv.Settings == nil {
		return
	}
	f := Finding{
		ID: "rt-throttling", Severity: host.SeverityNote,
		Title:  fmt.Sprintf("%s may take the CPU from real-time threads for %s of %s", stop.By, duration(stop.Stop), duration(stop.Period)),
		Why:    "A thread of fifo or rr that polls never sleeps, so the kernel stops it, and packets wait until it continues.",
		Cost:   &Cost{FromUS: float64(stop.Stop.Microseconds()), ToUS: float64(stop.Stop.Microseconds()), When: fmt.Sprintf("once in %s, to threads of fifo or rr that spin", duration(stop.Period)), Basis: BasisHost, Source: "the host's own settings"},
		Source: "Documentation/scheduler/sched-rt-group.rst; kernel/sched/rt.c, kernel/sched/deadline.c",
	}
	if j.scope.RealTime {
		f.Severity = host.SeverityWarning
	}
	if stop.By == host.StopFairServer {
		served := j.those(func(c host.CPU) bool { return j.inv.Settings[fairServer(c.ID)] != "0" })
		if len(served) == 0 {
			return
		}
		f.Why += " It does so only if an ordinary thread waits for that CPU."
		f.Evidence = []Evidence{{fairServer(served[0]), orUnread(j.inv.Settings[fairServer(served[0])], fmt.Sprintf("the kernel's default, %d", stop.Stop.Nanoseconds()))}}
		f.Remedies = []Remedy{{Text: "keep ordinary threads off these CPUs (isolation: isolated), or switch it off there; then one that is bound to such a CPU starves",
			Commands: []string{fmt.Sprintf("for c in %s; do echo 0 > /sys/kernel/debug/sched/fair_server/cpu$c/runtime; done", words(served))}}}
	} else {
		const path = "/proc/sys/kernel/sched_rt_runtime_us"
		f.Evidence = []Evidence{{path, orUnread(j.inv.Settings[path], "the kernel's default")}}
		f.Remedies = j.write("never stop them; one that spins on all CPUs then locks the machine up, so keep a CPU for the host", path, "-1")
	}
	j.find(f)
}

// fairServer is the file with the fair server's runtime on a CPU, in ns (since 6.12).
func fairServer(cpu int) string {
	return fmt.Sprintf("/sys/kernel/debug/sched/fair_server/cpu%d/runtime", cpu)
}

// groups judges RT_GROUP_SCHED, which refuses real-time policies in new control groups.
func (j *judge) groups() {
	if !j.inv.RTGroupSched() {
		return
	}
	severity := host.SeverityNote
	if j.scope.RealTime {
		severity = host.SeverityWarning
	}
	remedies := []Remedy{{Text: "in version 1, give the group a real-time budget, parents first", Commands: []string{"echo 950000 > /sys/fs/cgroup/cpu/GROUP/cpu.rt_runtime_us"}}}
	if j.inv.Kernel.AtLeast(6, 16) {
		remedies = append([]Remedy{j.boot("disable real-time budgets of groups", "rt_group_sched=0")}, remedies...)
	}
	j.find(Finding{
		ID: "rt-group-sched", Severity: severity,
		Title:    "the kernel gives new control groups no time for real-time threads",
		Evidence: []Evidence{{"the kernel's configuration", "CONFIG_RT_GROUP_SCHED=y"}},
		Why:      "In a container's control group, sched_setscheduler(2) for fifo or rr fails with EPERM until the group has a cpu.rt_runtime_us; and RT throttling stays in force also after 6.12.",
		Remedies: remedies,
		Source:   "Documentation/scheduler/sched-rt-group.rst; init/Kconfig, RT_GROUP_SCHED",
	})
}
