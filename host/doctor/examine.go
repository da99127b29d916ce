package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nines.dev/nines/host"
	"nines.dev/nines/host/tune"
	"nines.dev/nines/kernel/cpulist"
)

// judge collects findings on one host for one scope.
type judge struct {
	inv   *host.Inventory
	scope Scope
	list  []Finding
	// settings are those of the profiles by name.
	settings map[string][]tune.Setting
}

// subject is a part of a host, and the kinds of findings that look makes there.
type subject struct {
	name  string
	look  func(*judge)
	kinds []findingKind
}

// findingKind describes a kind of finding, for docs/doctor.md. Its ID ends in -NIC where it is followed by the name of
// an interface, and in -… by any other.
type findingKind struct{ id, wrong, matters string }

// subjects are in the order of the manual; each has a file.
var subjects = []subject{virtual, power, clock, tick, scheduler, memory, interrupts, topology, network, isolation, kernel, services}

// findingKinds lists every kind, in the order of the manual.
func findingKinds() []findingKind {
	var all []findingKind
	for _, s := range subjects {
		all = append(all, s.kinds...)
	}
	return slices.Concat(all, guestKinds, privilegedKinds, needKinds)
}

// Examine judges a host for a scope. The most important findings come first.
func Examine(inv *host.Inventory, scope Scope) []Finding {
	j := &judge{inv: inv, scope: scope, list: []Finding{}}
	for _, subject := range subjects {
		before := len(j.list)
		subject.look(j)
		for i := before; i < len(j.list); i++ {
			j.list[i].Subject = subject.name
		}
	}
	rank(j.list)
	return j.list
}

func (j *judge) find(f Finding) { j.list = append(j.list, f) }

// setting reads a setting; ok is false where the inventory lacks it.
func (j *judge) setting(path string) (value string, ok bool) {
	value, ok = j.inv.Settings[path]
	return value, ok
}

// number reads a numeric setting.
func (j *judge) number(path string) (int, bool) {
	n, err := strconv.Atoi(j.inv.Settings[path])
	return n, err == nil
}

// chosen returns the scope's CPUs that are online.
func (j *judge) chosen() []host.CPU {
	var list []host.CPU
	for _, id := range j.scope.CPUs {
		if cpu, err := j.inv.CPU(id); err == nil && cpu.Online {
			list = append(list, cpu)
		}
	}
	return list
}

// those returns the chosen CPUs for which is holds.
func (j *judge) those(is func(host.CPU) bool) []int {
	var list []int
	for _, cpu := range j.chosen() {
		if is(cpu) {
			list = append(list, cpu.ID)
		}
	}
	return list
}

// own returns the chosen CPUs without housekeeping for which is holds: noise can be kept
// off these.
func (j *judge) own(is func(host.CPU) bool) []int {
	return j.those(func(c host.CPU) bool { return !contains(j.scope.Housekeeping, c.ID) && is(c) })
}

// target formats the CPUs that settings are for: the chosen ones without housekeeping.
func (j *judge) target() string {
	return list(j.scope.own())
}

// inMask returns which of the CPUs are in a mask such as "ff,00000003".
func inMask(mask string, cpus []int) []int {
	var list []int
	groups := strings.Split(mask, ",")
	for _, id := range cpus {
		at := len(groups) - 1 - id/32
		if at < 0 {
			continue
		}
		if bits, err := strconv.ParseUint(groups[at], 16, 32); err == nil && bits>>(id%32)&1 == 1 {
			list = append(list, id)
		}
	}
	return list
}

// hexMask formats CPUs as one of the kernel's masks.
func hexMask(cpus []int) string {
	groups := make([]uint32, 1+slices.Max(cpus)/32)
	for _, id := range cpus {
		groups[len(groups)-1-id/32] |= 1 << (id % 32)
	}
	words := []string{fmt.Sprintf("%x", groups[0])}
	for _, g := range groups[1:] {
		words = append(words, fmt.Sprintf("%08x", g))
	}
	return strings.Join(words, ",")
}

func list(cpus []int) string { return cpulist.Format(cpus) }

// namedCPUs formats CPUs: "CPU 3", "CPUs 2-5".
func namedCPUs(cpus []int) string {
	if len(cpus) == 1 {
		return "CPU " + list(cpus)
	}
	return "CPUs " + list(cpus)
}

// words joins numbers for a shell's for loop.
func words(cpus []int) string { return strings.Trim(fmt.Sprint(cpus), "[]") }
