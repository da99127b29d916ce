package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/host"
	"nines.dev/nines/terminal"
)

var interrupts = subject{"interrupts", (*judge).interrupts, []findingKind{
	{"interrupts", "devices interrupt the CPU", "handler and softirq run before the thread"},
	{"irqbalance", "irqbalance moves interrupts to any CPU", "also to a CPU that polls"},
	{"workqueues", "the kernel's unbound work runs there", "for as long as it takes"},
}}

// mostNamed is how many interrupts of a kind the evidence names.
const mostNamed = 4

// interrupts looks at what reaches the chosen CPUs from devices and other CPUs.
func (j *judge) interrupts() {
	j.devices()
	j.balancer()
	j.workqueues()
}

// devices finds interrupts that reached the chosen CPUs, and may again.
func (j *judge) devices() {
	var coming []host.Interrupt
	var touched []int
	for _, i := range j.inv.Interrupts {
		here := j.own(func(c host.CPU) bool { return i.MayCome(c.ID) && i.Counts[c.ID] > 0 && !contains(j.scope.Quiet, c.ID) })
		if len(here) == 0 {
			continue
		}
		coming = append(coming, i)
		for _, id := range here {
			if !contains(touched, id) {
				touched = append(touched, id)
			}
		}
	}
	if len(coming) == 0 {
		return
	}
	slices.Sort(touched)
	slices.SortStableFunc(coming, func(a, b host.Interrupt) int {
		return cmp.Compare(b.Total(touched), a.Total(touched))
	})
	var evidence []Evidence
	var ids []string
	network := ""
	for at, i := range coming {
		if at < mostNamed {
			evidence = append(evidence, Evidence{"/proc/interrupts, " + i.ID, fmt.Sprintf("%s came %d times to %s", cmp.Or(i.Name, "a device"), i.Total(touched), namedCPUs(touchedBy(i, touched)))})
		}
		ids = append(ids, i.ID)
		for _, nic := range j.inv.NICs {
			if network == "" && slices.Contains(nic.Interrupts, i.ID) {
				network = nic.Name
			}
		}
	}
	if more := len(coming) - mostNamed; more > 0 {
		evidence = append(evidence, Evidence{"/proc/interrupts", terminal.Count(more, "more interrupt")})
	}
	f := Finding{
		ID: "interrupts", Severity: host.SeverityNote,
		Title:    fmt.Sprintf("%s of devices %s to %s", terminal.Count(len(coming), "interrupt"), choose(len(coming) == 1, "comes", "come"), namedCPUs(touched)),
		Evidence: evidence,
		Why:      "An interrupt stops the program on its CPU, and its softirq runs before the program continues.",
		Cost:     &Cost{FromUS: interruptUS, ToUS: threadUS, When: "at each of these interrupts", Basis: BasisPublished, Source: osnoise},
		CPUs:     touched,
		Remedies: append(j.isolated("move"), Remedy{Text: "move them to " + namedCPUs(j.scope.Housekeeping) + "; interrupts that the kernel manages (many of NVMe) refuse, and take isolcpus=managed_irq",
			Commands: []string{fmt.Sprintf("for i in %s; do echo %s > /proc/irq/$i/smp_affinity_list; done", strings.Join(ids, " "), list(j.scope.Housekeeping))}}),
		Source: "Documentation/core-api/irq/irq-affinity.rst; " + thesis + ", 4.3",
	}
	if network != "" {
		f.Severity = host.SeverityWarning
		f.Why += " That of a network card (" + network + ") receives all packets that arrived meanwhile, for any program."
		f.Cost.ToUS, f.Cost.Basis, f.Cost.Source = softirqUS, BasisComputed, osnoise+"; "+softirqSource
	}
	j.find(f)
}

func touchedBy(i host.Interrupt, cpus []int) []int {
	var hit []int
	for _, id := range cpus {
		if i.Counts[id] > 0 {
			hit = append(hit, id)
		}
	}
	return hit
}

// balancer judges irqbalance, which moves interrupts to any CPU that is not excluded. It
// excludes the CPUs of isolcpus and nohz_full by itself.
func (j *judge) balancer() {
	open := j.own(func(c host.CPU) bool { return !c.Isolated && !c.NoHzFull })
	if !slices.Contains(j.inv.Services, "irqbalance") || len(open) == 0 {
		return
	}
	j.find(Finding{
		ID: "irqbalance", Severity: host.SeverityWarning, CPUs: open,
		Title:    "irqbalance moves interrupts to any CPU",
		Evidence: []Evidence{{"/proc/*/comm", "irqbalance runs"}},
		Why:      "Every ten seconds it may move the interrupts of a disk or a card to a CPU that polls, and undo manual settings.",
		Cost:     &Cost{FromUS: interruptUS, ToUS: softirqUS, When: "for ten seconds or more, whenever it chose such a CPU", Basis: BasisComputed, Source: osnoise + "; " + softirqSource},
		Remedies: []Remedy{{Text: "end it; interrupts then stay where they are", Commands: []string{"systemctl disable --now irqbalance"}},
			{Text: "or keep it off these CPUs", Commands: []string{
				fmt.Sprintf("echo IRQBALANCE_BANNED_CPULIST=%s >> /etc/default/irqbalance", list(open)), "systemctl restart irqbalance"}}},
		Source: "irqbalance(1), IRQBALANCE_BANNED_CPULIST; " + tunedPartition,
	})
}

// workqueues judges where the kernel's unbound work may run.
func (j *judge) workqueues() {
	const path = "/sys/devices/virtual/workqueue/cpumask"
	mask, ok := j.setting(path)
	here := inMask(mask, j.own(func(c host.CPU) bool { return !contains(j.scope.Quiet, c.ID) }))
	if !ok || len(here) == 0 {
		return
	}
	j.find(Finding{
		ID: "workqueues", Severity: host.SeverityNote, CPUs: here,
		Title:    "the kernel's unbound work may run on " + namedCPUs(here),
		Evidence: []Evidence{{path, mask}},
		Why:      "Kernel threads run deferred work of drivers and file systems, on any CPU of this mask, for as long as it takes.",
		Cost:     &Cost{FromUS: interruptUS, ToUS: threadUS, When: "whenever a driver or a file system defers work; long work takes longer", Basis: BasisPublished, Source: osnoise},
		Remedies: append(j.isolated("keep"), j.write("run it on "+namedCPUs(j.scope.Housekeeping), path, hexMask(j.scope.Housekeeping))...),
		Source:   "Documentation/core-api/workqueue.rst; " + tunedPartition,
	})
}
