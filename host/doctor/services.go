package doctor

import (
	"slices"
	"strings"

	"nines.dev/nines/host"
)

var services = subject{"services", (*judge).services, []findingKind{
	{"audit", "the kernel audits system calls", "each call takes the slow path"},
	{"tuned", "tuned sets the same settings", "the last writer wins"},
	{"power-daemons", "daemons lower frequencies", "by battery, heat or request"},
	{"memory-daemons", "daemons move or merge memory", "the program waits"},
	{"kubelet", "Kubernetes assigns the CPUs", "its pods run on any CPU"},
	{"kubelet-policies", "Kubernetes gives pods no exclusive CPUs, or not near their card", "other pods run on the CPU of a pod that polls"},
}}

// services looks at programs that change settings while they run, or work on all CPUs.
func (j *judge) services() {
	runs := func(name string) bool { return slices.Contains(j.inv.Services, name) }
	j.audit(runs("auditd"))
	if runs("tuned") {
		j.find(Finding{
			ID: "tuned", Severity: host.SeverityNote,
			Title:    "tuned sets this machine's settings, too",
			Evidence: []Evidence{{"/proc/*/comm", "tuned runs"}},
			Why:      "It writes its profile's values when it starts or changes the profile, over those of nines tune, and nines tune revert would then restore values older than tuned's.",
			Remedies: []Remedy{{Text: "leave the settings to one of the two: see what its profile does", Commands: []string{"tuned-adm active", "tuned-adm verify"}},
				{Text: "or end it before nines tune apply", Commands: []string{"systemctl disable --now tuned"}}},
			Source: "tuned-adm(8)",
		})
	}
	var saving []string
	for _, s := range []struct{ comm, unit string }{{"power-profiles-", "power-profiles-daemon"}, {"thermald", "thermald"}} {
		if runs(s.comm) {
			saving = append(saving, s.unit)
		}
	}
	if len(saving) > 0 {
		j.find(Finding{
			ID: "power-daemons", Severity: host.SeverityNote,
			Title:    strings.Join(saving, " and ") + choose(len(saving) == 1, " changes", " change") + " how fast CPUs run",
			Evidence: []Evidence{{"/proc/*/comm", strings.Join(saving, ", ")}},
			Why:      "They lower frequencies by battery, temperature or desktop settings, and overwrite the governor's settings.",
			Cost:     &Cost{FromUS: 1, ToUS: packetUS, When: "when the machine gets hot or goes to battery", Basis: BasisEstimate, Source: "half of the frequency and " + packetSource},
			Remedies: []Remedy{{Text: "stop them while measuring; the firmware still protects the CPU from heat", Commands: []string{"systemctl stop " + strings.Join(saving, " ")}}},
			Source:   "powerprofilesctl(1); thermald(8)",
		})
	}
	var scanning []string
	for _, name := range []string{"ksmtuned", "numad"} {
		if runs(name) {
			scanning = append(scanning, name)
		}
	}
	if len(scanning) > 0 {
		j.find(Finding{
			ID: "memory-daemons", Severity: host.SeverityWarning,
			Title:    strings.Join(scanning, " and ") + choose(len(scanning) == 1, " moves", " move") + " or joins memory of programs",
			Evidence: []Evidence{{"/proc/*/comm", strings.Join(scanning, ", ")}},
			Why:      "ksmtuned switches KSM on when memory gets short; numad moves processes and their memory between nodes.",
			Cost:     &Cost{FromUS: 1, ToUS: 1000, When: "when they act", Basis: BasisEstimate, Source: "pages are unmapped and copied while the program waits"},
			Remedies: []Remedy{{Text: "end them", Commands: []string{"systemctl disable --now " + strings.Join(scanning, " ")}}},
			Source:   "numad(8); Red Hat, Virtualization Tuning and Optimization Guide (ksmtuned)",
		})
	}
	if runs("kubelet") {
		j.kubelet()
	}
}

func (j *judge) audit(running bool) {
	if off, given := j.inv.Kernel.Parameter("audit"); !running || given && off == "0" {
		return
	}
	j.find(Finding{
		ID: "audit", Severity: host.SeverityNote,
		Title:    "system calls are audited",
		Evidence: []Evidence{{"/proc/*/comm", "auditd runs"}},
		Why:      "With rules loaded, each system call of each program takes the kernel's slow path and is checked against them.",
		Cost:     &Cost{FromUS: 0.1, ToUS: 2, When: "at each system call", Basis: BasisEstimate, Source: "kernel/auditsc.c: a context is filled at entry, and the rules are gone through at exit"},
		Remedies: []Remedy{{Text: "switch it off until the next boot, unless a policy requires it", Commands: []string{"auditctl -e 0"}}, j.boot("or for good", "audit=0")},
		Source:   "auditctl(8); " + thesis + ", listing 5.13 (audit=0)",
	})
}
