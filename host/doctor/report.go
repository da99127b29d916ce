package doctor

import (
	"fmt"
	"slices"

	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/terminal"
)

// Schema names the format of a report in JSON.
const Schema = "nines/doctor/v1"

// Verdict says in one word whether a host is fit.
type Verdict string

// The verdicts: VerdictFit has at most notes, VerdictUnfit has warnings, and
// VerdictImpossible means that the experiment cannot run as written.
const (
	VerdictFit        Verdict = "fit"
	VerdictUnfit      Verdict = "unfit"
	VerdictImpossible Verdict = "impossible"
)

// Report is the result of judging a host.
type Report struct {
	Schema   string `json:"schema"`
	Hostname string `json:"hostname"`
	// Source is the inventory's, if it is not a live reading.
	Source string `json:"source,omitempty"`
	Kernel string `json:"kernel"`
	System string `json:"system,omitempty"` // the distribution
	RunsIn string `json:"runs_in"`
	// CPUs are those that the host was judged for, and Why says how they were chosen.
	CPUs []int  `json:"cpus"`
	Why  string `json:"why"`
	// Runs is the number of runs of the experiment; 0 without one.
	Runs     int       `json:"runs,omitempty"`
	Verdict  Verdict   `json:"verdict"`
	Findings []Finding `json:"findings"`
	// Handled is what the experiment's tuning and isolation take care of.
	Handled []Handled `json:"handled,omitempty"`
	// Unseen is what could not be read.
	Unseen []string `json:"unseen,omitempty"`
}

// Handled is a finding that does not apply while the experiment runs.
type Handled struct {
	ID string `json:"id"`
	By string `json:"by"`
}

// Judge judges a host without an experiment.
func Judge(inv *host.Inventory) *Report {
	scope := Default(inv)
	r := newReport(inv)
	r.CPUs, r.Why, r.Findings = scope.CPUs, scope.Why, Examine(inv, scope)
	r.conclude()
	return r
}

func newReport(inv *host.Inventory) *Report {
	return &Report{
		Schema: Schema, Hostname: inv.Hostname, Source: inv.Source, Kernel: inv.Kernel.Release, System: inv.Distribution.Name,
		RunsIn: inv.Virtualisation.String(), Unseen: unseen(inv),
	}
}

// conclude derives the verdict from the findings.
func (r *Report) conclude() {
	r.Verdict = VerdictFit
	for _, f := range r.Findings {
		switch f.Severity {
		case host.SeverityError:
			r.Verdict = VerdictImpossible
			return
		case host.SeverityWarning:
			r.Verdict = VerdictUnfit
		case host.SeverityNote:
		}
	}
}

// Count returns the number of findings of a severity.
func (r *Report) Count(s host.Severity) int {
	n := 0
	for _, f := range r.Findings {
		if f.Severity == s {
			n++
		}
	}
	return n
}

// unseen lists what the inventory lacks.
func unseen(inv *host.Inventory) []string {
	list := []string{}
	if len(inv.Settings) == 0 {
		list = append(list, "the kernel's settings: the inventory is from an older nines")
	}
	if len(inv.Config) == 0 {
		list = append(list, "the kernel's configuration: neither /proc/config.gz nor /boot/config-"+inv.Kernel.Release+" is there")
	}
	if len(inv.Interrupts) == 0 {
		list = append(list, "interrupts of devices: /proc/interrupts has none")
	}
	if inv.WakeLatencyUS == nil && !slices.Contains(inv.Privileges.Capabilities, "dac_override") {
		list = append(list, "whether a program keeps CPUs from sleeping: only root may read /dev/cpu_dma_latency")
	}
	if inv.Virtualisation.Hypervisor == "" {
		list = append(list, "what the firmware does unseen by the kernel (SMIs, its power profile): rtla hwnoise or hwlatdetect measure it")
	} else {
		list = append(list, "what the hypervisor and its other machines do: only its operator can see that")
	}
	return list
}

// Unfit returns an error if the host is not fit for low latency, or cannot run an experiment. One that runs, only not
// as well as it might, is no error.
func (r *Report) Unfit() error {
	switch {
	case r.Verdict == VerdictImpossible:
		return exit.Lacksf("this host cannot run the experiment as it is written: %s above", terminal.Count(r.Count(host.SeverityError), "error"))
	case r.Verdict == VerdictFit, r.Runs > 0:
		return nil
	}
	return fmt.Errorf("this host is not fit for low latency: %s above", terminal.Count(r.Count(host.SeverityWarning), "warning"))
}
