package tune

import (
	"maps"
	"slices"
	"strings"
)

// The built-in profiles.
const (
	// Latency is for packets that must not wait: the settings of tuned's
	// network-latency, for containers and virtual machines.
	Latency = "latency"
	// Realtime is for SCHED_FIFO threads that spin on their own CPUs.
	Realtime = "realtime"
	// Throughput is for as much work as possible.
	Throughput = "throughput"
)

// Keep, as a setting's word, leaves it unchanged.
const Keep = "keep"

// Away, as the word of one of BesideNames, moves it off the chosen CPUs.
const Away = "away"

// BesideNames are the kinds of settings that package isolate finds on a host. Profiles ask
// for a whole kind, since a network card has many such settings.
var BesideNames = []string{"workqueue-cpumask", "irq-default-affinity", "irq-affinity", "irq-affinity-queue", "rps", "xps"}

// Profile is a choice of settings and boot parameters.
type Profile struct {
	Name string `json:"name"`
	// Source is "nines", or the user's file.
	Source string `json:"source"`
	// Settings has a word for each wanted setting: by its name in the catalogue, or by
	// a file below /proc/sys or /sys.
	Settings map[string]string `json:"settings"`
	// Boot has a word for each boot parameter that was asked for, or "keep".
	Boot map[string]string `json:"boot,omitempty"`
}

// ProfileNames are the names of the built-in profiles.
func ProfileNames() []string { return []string{Latency, Realtime, Throughput} }

// BuiltIn returns a built-in profile.
func BuiltIn(name string) (Profile, bool) {
	if !slices.Contains(ProfileNames(), name) {
		return Profile{}, false
	}
	p := Profile{Name: name, Source: "nines", Settings: map[string]string{}, Boot: map[string]string{}}
	for _, k := range catalogue() {
		if word := k.values[name]; word != "" {
			p.Settings[k.Name] = word
		}
	}
	if name != Throughput {
		for _, beside := range BesideNames {
			p.Settings[beside] = Away
		}
	}
	for _, b := range bootKinds() {
		if word := b.values[name]; word != "" {
			p.Boot[b.Name] = word
		}
	}
	return p, true
}

// file is a setting outside of the catalogue.
type file struct{ path, value string }

// own are the files of a user's profile that are not in the catalogue, sorted.
func (p Profile) own() []file {
	var list []file
	for _, name := range slices.Sorted(maps.Keys(p.Settings)) {
		if strings.HasPrefix(name, "/") && p.Settings[name] != Keep {
			list = append(list, file{name, p.Settings[name]})
		}
	}
	return list
}
