package tune

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"

	"nines.dev/nines/host"
	"nines.dev/nines/journal/setting"
	"nines.dev/nines/kernel/cpulist"
)

// Request is the input of a plan.
type Request struct {
	// CPUs are the chosen ones, sorted.
	CPUs    []int
	Profile Profile
	Use     Use
	// Beside are the settings of BesideNames that package isolate finds on the host;
	// the profile chooses among them.
	Beside []Setting
}

// Plan is what tuning a host would change.
type Plan struct {
	Hostname string `json:"hostname"`
	Kernel   string `json:"kernel"`
	Profile  string `json:"profile"`
	// Source is "nines" or the profile's file.
	Source string `json:"source"`
	// CPUs are the chosen ones. Housekeeping does all other work. Idle are the other
	// threads of the chosen CPUs' cores, which are best left idle.
	CPUs         []int       `json:"cpus"`
	Housekeeping []int       `json:"housekeeping"`
	Idle         []int       `json:"idle,omitempty"`
	Settings     []Row       `json:"settings"`
	Boot         []Parameter `json:"boot"`
	// BootLine is what Boot adds; CommandLine is the current command line with it.
	BootLine    string    `json:"boot_line"`
	CommandLine string    `json:"command_line"`
	LeftOut     []LeftOut `json:"left_out,omitempty"`
	Notes       []string  `json:"notes,omitempty"`
}

// Row is a setting and what its file holds now.
type Row struct {
	Setting
	// Now is empty if it is not known.
	Now     string `json:"now,omitempty"`
	InForce bool   `json:"in_force"`
}

// Current returns what a setting's file holds, or why the host does not have it; both are
// empty if unknown.
type Current func(path string) (now, absent string)

// Live reads the files of this machine.
func Live(path string) (now, absent string) {
	now, err := setting.Read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", "this kernel has no " + path
	case err != nil:
		return "", "cannot be read: " + err.Error()
	}
	return now, ""
}

// Recorded reads them from an inventory.
func Recorded(inv *host.Inventory) Current {
	known := map[string]string{}
	for path, value := range inv.Settings {
		known[path] = value
	}
	for _, cpu := range inv.CPUs {
		dir := "/sys/devices/system/cpu/cpu" + strconv.Itoa(cpu.ID)
		known[dir+"/cpufreq/scaling_governor"] = cpu.Governor
		known[dir+"/cpufreq/energy_performance_preference"] = cpu.EnergyPreference
	}
	return func(path string) (now, absent string) { return known[path], "" }
}

// MakePlan makes a plan. It is pure, except for what current reads.
func MakePlan(inv *host.Inventory, r Request, current Current) Plan {
	p := Plan{
		Hostname: inv.Hostname, Kernel: inv.Kernel.Release, Profile: r.Profile.Name, Source: r.Profile.Source,
		CPUs: r.CPUs, Housekeeping: Housekeeping(inv, r.CPUs), Idle: Siblings(inv, r.CPUs),
		Boot: BootParameters(inv, r.CPUs, r.Profile, r.Use),
	}
	for _, s := range Settings(inv, r.CPUs, r.Profile) {
		p.Settings = append(p.Settings, row(inv, s, current))
	}
	for _, s := range r.Beside {
		if r.Profile.Settings[s.Name] == Away {
			p.Settings = append(p.Settings, row(inv, s, current))
		}
	}
	p.BootLine = Line(p.Boot)
	p.CommandLine = Merge(inv.Kernel.CommandLine, p.Boot)
	p.LeftOut = NotAsked(p.Boot)
	p.Notes = notes(inv, p)
	return p
}

func row(inv *host.Inventory, s Setting, current Current) Row {
	r := Row{Setting: s}
	if s.Absent != "" {
		return r
	}
	if s.Method == Hold {
		if inv.WakeLatencyUS != nil {
			r.Now = strconv.Itoa(*inv.WakeLatencyUS)
			wanted, err := strconv.Atoi(s.Value)
			r.InForce = err == nil && *inv.WakeLatencyUS <= wanted
		}
		return r
	}
	r.Now, r.Absent = current(s.Path)
	r.InForce = r.Now != "" && setting.Same(s.Path, r.Now, s.Value)
	return r
}

func notes(inv *host.Inventory, p Plan) []string {
	var list []string
	if len(p.CPUs) == 0 {
		list = append(list, "No CPUs are chosen, so the plan has no per-CPU settings: choose CPUs with --cpus LIST or --for FILE.")
	}
	if len(p.Idle) > 0 {
		list = append(list, fmt.Sprintf("CPUs %s are the other threads of the chosen cores: nothing should run there. nines counts them as neither chosen nor housekeeping.",
			cpulist.Format(p.Idle)))
	}
	if len(p.CPUs) > 0 && len(p.CPUs) >= len(inv.AllowedCPUs) {
		list = append(list, "All CPUs are chosen, so everything else on the host runs on them too: leave at least one for housekeeping.")
	}
	if inv.Virtualisation.Hypervisor != "" {
		list = append(list, "This is a virtual machine: no setting in it can recover the time that its hypervisor takes. nines tune check shows how much that is (steal).")
	}
	return list
}
