package tune

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"nines.dev/nines/host"
	"nines.dev/nines/kernel/cpulist"
)

// Parameter is one parameter of the kernel command line, and why it should be there.
type Parameter struct {
	Advice
	// Text is the parameter as written: "nohz_full=2-3".
	Text string `json:"text"`
	// Now is the parameter as in force, if it is.
	Now     string `json:"now,omitempty"`
	InForce bool   `json:"in_force"`
	// Absent says why this kernel or machine cannot have it; it is then not in the
	// command line.
	Absent string `json:"absent,omitempty"`
	// Conflicts are what it conflicts with, on this host or in this call.
	Conflicts []string `json:"conflicts,omitempty"`
}

// Use is what the machine is used for, as far as boot parameters depend on it.
type Use struct {
	// Cgroup is the control group version that the containers need, "v1" or "v2"; empty
	// takes the host's.
	Cgroup string `json:"cgroup,omitempty"`
	// DeviceAccess is true if vfio-pci gives devices to containers or virtual machines,
	// which needs an IOMMU.
	DeviceAccess bool `json:"device_access,omitempty"`
	// VMs is true if virtual machines run.
	VMs bool `json:"vms,omitempty"`
	// Runtimes are the container runtimes in use, such as "lxc", for messages.
	Runtimes []string `json:"runtimes,omitempty"`
}

// bootKind is one line of the catalogue of boot parameters.
type bootKind struct {
	Advice
	values map[string]string
	// value converts a word to what follows the "="; nil takes it unchanged. The word
	// "set" stands for a parameter without a value.
	value func(s bootSite, word string) string
	// absent says why this kernel cannot have it.
	absent func(s bootSite) string
	// conflicts finds conflicts on the site.
	conflicts func(s bootSite, word string) []string
	// omit says why no profile sets it by default; the user can.
	omit string
}

type bootSite struct {
	site
	use     Use
	profile Profile
}

// wordSet is the word for a parameter without a value.
const wordSet = "set"

// BootParameters are what a profile wants on the kernel command line for the chosen CPUs
// and their use: in the order of the catalogue, then the user's own by name. It is pure.
func BootParameters(inv *host.Inventory, chosen []int, p Profile, use Use) []Parameter {
	s := bootSite{site{inv, chosen}, use, p}
	words := maps.Clone(p.Boot)
	if words == nil {
		words = map[string]string{}
	}
	// The machine's use asks for these, not the profile.
	for name, word := range use.words(inv) {
		if _, said := words[name]; !said {
			words[name] = word
		}
	}
	var list []Parameter
	for _, k := range bootKinds() {
		word, wanted := words[k.Name]
		delete(words, k.Name)
		if wanted && word != Keep {
			list = append(list, k.parameter(s, word))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(words)) {
		if words[name] == Keep {
			continue
		}
		own := bootKind{Advice: Advice{
			Name: name, What: "Your own setting: nines has no description of it.", Cost: "Unknown.", Source: p.Source,
		}}
		list = append(list, own.parameter(s, words[name]))
	}
	return list
}

func (u Use) words(inv *host.Inventory) map[string]string {
	words := map[string]string{}
	if want := map[string]string{"v1": "0", "v2": "1"}[u.Cgroup]; want != "" {
		words["systemd.unified_cgroup_hierarchy"] = want
	}
	if u.DeviceAccess {
		words["iommu"] = "pt"
		if intel(inv) {
			words["intel_iommu"] = "on"
		}
	}
	return words
}

func (k bootKind) parameter(s bootSite, word string) Parameter {
	value := word
	if k.value != nil {
		value = k.value(s, word)
	}
	p := Parameter{Advice: k.Advice, Text: k.Name + "=" + value}
	if value == wordSet {
		p.Text = k.Name
	}
	if now, given := s.inv.Kernel.Parameter(k.Name); given {
		p.Now = k.Name
		if now != "" {
			p.Now += "=" + now
		}
		p.InForce = sameParameter(p.Now, p.Text)
	}
	if len(s.chosen) == 0 && aboutCPUs(k.Name) {
		p.Absent = "no CPUs are chosen"
	} else if k.Since != "" && !atLeast(s.inv.Kernel, k.Since) {
		p.Absent = fmt.Sprintf("needs Linux %s; this is %s", k.Since, s.inv.Kernel.Release)
	} else if k.absent != nil {
		p.Absent = k.absent(s)
	}
	if k.conflicts != nil && p.Absent == "" {
		p.Conflicts = k.conflicts(s, word)
	}
	return p
}

// aboutCPUs is true for parameters that need chosen CPUs.
func aboutCPUs(name string) bool {
	return slices.ContainsFunc(bootCPUKinds, func(k bootKind) bool { return k.Name == name && name != "nosmt" })
}

// sameParameter compares lists of CPUs by their members: 8,9,10 equals 8-10.
func sameParameter(a, b string) bool {
	if a == b {
		return true
	}
	nameA, valueA, _ := strings.Cut(a, "=")
	nameB, valueB, _ := strings.Cut(b, "=")
	listA, errA := cpulist.Parse(valueA)
	listB, errB := cpulist.Parse(valueB)
	return nameA == nameB && errA == nil && errB == nil && slices.Equal(listA, listB)
}

// Line joins the parameters as a part of the command line.
func Line(parameters []Parameter) string {
	var texts []string
	for _, p := range parameters {
		if p.Absent == "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, " ")
}

// Merge puts parameters into a command line. A parameter that is there with another value
// is replaced in place; the rest are appended. What follows "--" is for init and stays at
// the end.
func Merge(line string, parameters []Parameter) string {
	kernel, init, hasInit := strings.Cut(line+" ", " -- ")
	wanted, order := map[string]string{}, []string{}
	for _, p := range parameters {
		if p.Absent == "" {
			wanted[p.Name] = p.Text
			order = append(order, p.Name)
		}
	}
	var words []string
	for _, word := range strings.Fields(kernel) {
		name, _, _ := strings.Cut(word, "=")
		text, ours := wanted[name]
		switch {
		case !ours:
			words = append(words, word)
		case slices.Contains(order, name):
			words = append(words, text)
			order = slices.DeleteFunc(order, func(n string) bool { return n == name })
		}
	}
	for _, name := range order {
		words = append(words, wanted[name])
	}
	if hasInit {
		words = append(words, "--", strings.TrimSpace(init))
	}
	return strings.Join(words, " ")
}

// LeftOut is a boot parameter that others recommend and no profile of nines sets.
type LeftOut struct {
	Name string `json:"name"`
	Why  string `json:"why"`
}

// NotAsked returns the known parameters that were not asked for.
func NotAsked(parameters []Parameter) []LeftOut {
	var list []LeftOut
	for _, k := range bootKinds() {
		asked := slices.ContainsFunc(parameters, func(p Parameter) bool { return p.Name == k.Name })
		if !asked && k.omit != "" {
			list = append(list, LeftOut{k.Name, k.omit})
		}
	}
	return list
}

// BootKinds returns all boot parameters of the catalogue, for documents.
func BootKinds() []Advice {
	var list []Advice
	for _, k := range bootKinds() {
		list = append(list, k.Advice)
	}
	return list
}
