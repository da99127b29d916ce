package tune

import (
	"fmt"
	"strings"

	"nines.dev/nines/host"
)

// kind is one line of the catalogue: a setting, wherever it is on a host.
type kind struct {
	Advice
	// path is the file; with %d it is one of each CPU.
	path   string
	method Method
	// every makes a per-CPU kind one for all CPUs that are online, not only the chosen.
	every bool
	// values are the profiles' words for it; a profile without one leaves it alone.
	values map[string]string
	// value makes a word into what the file holds on this site; nil takes it as it is.
	value func(s site, word string) string
	// absent says why the site does not have it, empty if it has; nil is always there.
	absent func(s site) string
}

// perCPU tells whether each CPU has a file of its own.
func (k kind) perCPU() bool { return strings.Contains(k.path, "%d") }

// site is a host with the CPUs that were chosen on it.
type site struct {
	inv    *host.Inventory
	chosen []int
}

// housekeeping are the CPUs that are online and not chosen, nor threads of a chosen
// one's core; where that leaves none, those that are not chosen; or all.
func (s site) housekeeping() []int { return Housekeeping(s.inv, s.chosen) }

// Housekeeping are the CPUs that are left for everything but the chosen ones' work: those
// that are online, isolated for nobody else's, and share no core with a chosen one; where
// there are none, those that are online and not chosen; where there are none either, all.
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

// Siblings are the CPUs that are not chosen, but threads of a chosen one's core.
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
// they are to be made. It is pure: the same inventory gives the same list. What the host
// lacks is in it with the reason, as far as the inventory tells.
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
				Name: own.path, What: "Yours: the catalogue does not know it.",
				Cost: "Nobody but you knows.", Source: p.Source,
			},
			Scope: ScopeHost, Method: Write, Path: own.path, Value: own.value,
		})
	}
	return list
}

// settings are one kind's on a site.
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

// cpus are those that a per-CPU kind is set on.
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

// needsConfig says that the kernel was built without an option, where its configuration
// is known.
func needsConfig(option string) func(site) string {
	return func(s site) string {
		if len(s.inv.Config) > 0 && s.inv.Config[option] == "" {
			return "this kernel was built without CONFIG_" + option
		}
		return ""
	}
}

// Kinds are all lines of the catalogue, for documents and the doctor.
func Kinds() []Advice {
	var list []Advice
	for _, k := range catalogue() {
		list = append(list, k.Advice)
	}
	return list
}

// catalogue is in the order in which settings are made: first what only the kernel
// notices, last what changes how the machine draws power.
func catalogue() []kind {
	var all []kind
	for _, part := range [][]kind{timerKinds, watchdogKinds, schedulerKinds, memoryKinds, networkKinds, powerKinds} {
		all = append(all, part...)
	}
	return all
}

// words gives the three profiles' words in their order; an empty one leaves the setting
// alone.
func words(latency, realtime, throughput string) map[string]string {
	m := map[string]string{}
	for name, word := range map[string]string{Latency: latency, Realtime: realtime, Throughput: throughput} {
		if word != "" {
			m[name] = word
		}
	}
	return m
}
