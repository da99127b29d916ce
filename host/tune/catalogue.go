package tune

import (
	"fmt"
	"strings"

	"nines.dev/nines/host"
)

// kind is one line of the catalogue: a setting, on any host.
type kind struct {
	Advice
	// path is the file; with %d there is one for each CPU.
	path   string
	method Method
	// every makes a per-CPU kind apply to all online CPUs, not only the chosen ones.
	every bool
	// values are the profiles' words for it; a profile without a word leaves it
	// unchanged.
	values map[string]string
	// value converts a word to what the file holds on this site; nil takes it
	// unchanged.
	value func(s site, word string) string
	// absent says why the site does not have it, empty if it does; nil if every site
	// has it.
	absent func(s site) string
}

// perCPU reports whether each CPU has its own file.
func (k kind) perCPU() bool { return strings.Contains(k.path, "%d") }

// site is a host and the CPUs chosen on it.
type site struct {
	inv    *host.Inventory
	chosen []int
}

// housekeeping are the site's housekeeping CPUs.
func (s site) housekeeping() []int { return Housekeeping(s.inv, s.chosen) }

// Housekeeping are the CPUs that do all work but that of the chosen ones: those that are
// online, not isolated, and share no core with a chosen one; if there are none, those that
// are online and not chosen; if there are none either, all.
func Housekeeping(inv *host.Inventory, chosen []int) []int {
	taken, shared := set(chosen), set(chosen)
	for _, s := range Siblings(inv, chosen) {
		shared[s] = true
	}
	var apart, rest, all []int
	for _, cpu := range inv.CPUs {
		if !cpu.Online {
			continue
		}
		all = append(all, cpu.ID)
		if !taken[cpu.ID] {
			rest = append(rest, cpu.ID)
		}
		if !shared[cpu.ID] && !cpu.Isolated {
			apart = append(apart, cpu.ID)
		}
	}
	switch {
	case len(apart) > 0:
		return apart
	case len(rest) > 0:
		return rest
	}
	return all
}

// Siblings are the CPUs that are not chosen but share a core with a chosen one.
func Siblings(inv *host.Inventory, chosen []int) []int {
	taken, found := set(chosen), map[int]bool{}
	for _, cpu := range inv.CPUs {
		if !taken[cpu.ID] {
			continue
		}
		for _, s := range cpu.Siblings {
			if !taken[s] {
				found[s] = true
			}
		}
	}
	var list []int
	for _, cpu := range inv.CPUs {
		if found[cpu.ID] {
			list = append(list, cpu.ID)
		}
	}
	return list
}

func set(cpus []int) map[int]bool {
	m := map[int]bool{}
	for _, c := range cpus {
		m[c] = true
	}
	return m
}

// Settings are what a profile wants of a host for the chosen CPUs, in the order in which
// they must be made. It is pure: the same inventory gives the same list. Settings that the
// host lacks are included with the reason, as far as the inventory shows it.
func Settings(inv *host.Inventory, chosen []int, p Profile) []Setting {
	s := site{inv, chosen}
	var list []Setting
	for _, k := range catalogue() {
		word, wanted := p.Settings[k.Name]
		if wanted && word != Keep {
			list = append(list, k.settings(s, word)...)
		}
	}
	for _, own := range p.own() {
		list = append(list, Setting{
			Advice: Advice{
				Name: own.path, What: "Your own setting: nines has no description of it.",
				Cost: "Unknown.", Source: p.Source,
			},
			Scope: ScopeHost, Method: Write, Path: own.path, Value: own.value,
		})
	}
	return list
}

// settings are the settings of one kind on a site.
func (k kind) settings(s site, word string) []Setting {
	value := word
	if k.value != nil {
		value = k.value(s, word)
	}
	one := Setting{Advice: k.Advice, Scope: ScopeHost, Method: Write, Path: k.path, Value: value, Absent: k.missing(s)}
	if k.method != "" {
		one.Method = k.method
	}
	if !k.perCPU() {
		return []Setting{one}
	}
	one.Scope = ScopeCPU
	var list []Setting
	for _, cpu := range k.cpus(s) {
		one.CPU, one.Path = cpu, fmt.Sprintf(k.path, cpu)
		list = append(list, one)
	}
	return list
}

// cpus are the CPUs on which a per-CPU kind is set.
func (k kind) cpus(s site) []int {
	if k.path == siblingPath {
		return Siblings(s.inv, s.chosen)
	}
	if !k.every {
		return s.chosen
	}
	var list []int
	for _, cpu := range s.inv.CPUs {
		if cpu.Online {
			list = append(list, cpu.ID)
		}
	}
	return list
}

func (k kind) missing(s site) string {
	if k.Since != "" && !atLeast(s.inv.Kernel, k.Since) {
		return fmt.Sprintf("needs Linux %s; this is %s", k.Since, s.inv.Kernel.Release)
	}
	if k.absent != nil {
		return k.absent(s)
	}
	return ""
}

func atLeast(k host.Kernel, version string) bool {
	var major, minor int
	if n, _ := fmt.Sscanf(version, "%d.%d", &major, &minor); n != 2 {
		return true
	}
	return k.AtLeast(major, minor)
}

// needsConfig says that the kernel was built without an option, if its configuration is
// known.
func needsConfig(option string) func(site) string {
	return func(s site) string {
		if len(s.inv.Config) > 0 && s.inv.Config[option] == "" {
			return "this kernel was built without CONFIG_" + option
		}
		return ""
	}
}

// Kinds returns all lines of the catalogue, for documents and the doctor.
func Kinds() []Advice {
	var list []Advice
	for _, k := range catalogue() {
		list = append(list, k.Advice)
	}
	return list
}

// catalogue is in the order in which settings are made: first what affects only the kernel,
// last what changes the machine's power management.
func catalogue() []kind {
	var all []kind
	for _, part := range [][]kind{timerKinds, watchdogKinds, schedulerKinds, memoryKinds, networkKinds, powerKinds} {
		all = append(all, part...)
	}
	return all
}

// words maps the three profiles to their words; an empty word leaves the setting unchanged.
func words(latency, realtime, throughput string) map[string]string {
	m := map[string]string{}
	for name, word := range map[string]string{Latency: latency, Realtime: realtime, Throughput: throughput} {
		if word != "" {
			m[name] = word
		}
	}
	return m
}
