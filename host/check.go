package host

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/terminal"
	"nines.dev/nines/vm/qemuversion"
)

// Needs is what an experiment needs of a host, beyond CPUs and memory, which the plan
// gives.
type Needs struct {
	// Root is true if something is made: namespaces, links, control groups.
	Root bool
	// Features are the features in use, and who uses them.
	Features []Need
	// Controllers are the control group controllers in use, and what for.
	Controllers []Need
}

// Need is one thing that is needed, and what needs it.
type Need struct {
	Name string // name of a feature or controller
	For  string // "link in", "node dut", "driver of node dut"
}

// Severity says how serious a finding is.
type Severity string

// SeverityError prevents the run, SeverityWarning distorts results, SeverityNote is for
// information.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
	SeverityNote    Severity = "note"
)

// Finding is one thing that the host lacks or that will show in the results.
type Finding struct {
	Severity   Severity `json:"severity"`
	Capability string   `json:"capability"`
	Problem    string   `json:"problem"`
	Remedy     string   `json:"remedy,omitempty"`
	// Works is what still works without it.
	Works string `json:"works,omitempty"`
	// Missing is how much of it the host lacks, in the same unit for all findings with
	// this capability and remedy; 0 where this is unknown.
	Missing int64 `json:"-"`
}

// CapabilityRoot is what a caller without root's rights lacks.
const CapabilityRoot = "root"

// String is the finding in one line.
func (f Finding) String() string {
	s := fmt.Sprintf("%s: %s: %s", f.Severity, f.Capability, f.Problem)
	if f.Remedy != "" {
		s += "; " + f.Remedy
	}
	if f.Works != "" {
		s += "; without it " + f.Works
	}
	return s
}

// Check compares a host with needs. It is pure. Errors come first, then warnings. It does
// not find what only a try can show. Package doctor finds what costs latency.
func Check(inv *Inventory, needs Needs) []Finding {
	list := []Finding{}
	list = append(list, checkPrivileges(inv, needs)...)
	list = append(list, checkFeatures(inv, needs)...)
	list = append(list, checkControllers(inv, needs)...)
	order := []Severity{SeverityError, SeverityWarning, SeverityNote}
	sort.SliceStable(list, func(i, j int) bool {
		return slices.Index(order, list[i].Severity) < slices.Index(order, list[j].Severity)
	})
	return list
}

// Missing returns the findings of severity error, joined; nil if there are none. Each is a
// MissingError.
func Missing(findings []Finding) error {
	var errs []error
	for _, f := range findings {
		if f.Severity != SeverityError {
			continue
		}
		remedy := f.Remedy
		if f.Works != "" {
			remedy = strings.TrimPrefix(remedy+"; without it "+f.Works, "; ")
		}
		errs = append(errs, &exit.MissingError{Capability: f.Capability, Reason: f.Problem, Remedy: remedy})
	}
	return errors.Join(errs...)
}

// checkPrivileges checks for the capabilities that making a lab needs.
func checkPrivileges(inv *Inventory, needs Needs) []Finding {
	if !needs.Root {
		return nil
	}
	var lacking []string
	for _, c := range []string{"net_admin", "sys_admin"} {
		if !slices.Contains(inv.Privileges.Capabilities, c) {
			lacking = append(lacking, "CAP_"+strings.ToUpper(c))
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	remedy := "run it with sudo"
	if inv.Privileges.Root {
		remedy = "root in a container may have fewer capabilities: give it these, or run nines outside"
	}
	return []Finding{{Severity: SeverityError, Capability: CapabilityRoot, Problem: "namespaces and links cannot be made without " + strings.Join(lacking, " and "),
		Remedy: remedy, Works: "validate, plan, host, schema, report and compare work"}}
}

// remedies says how to get a feature, and what works without it.
var remedies = map[string]struct{ remedy, works string }{
	FeatureNetns:      {"use a kernel with CONFIG_NET_NS", ""},
	FeatureLXC:        {"apt-get install lxc busybox-static", "nodes with runtime: netns work"},
	FeatureRunc:       {"apt-get install runc", "nodes with runtime: netns and lxc work"},
	FeatureCrun:       {"apt-get install crun", "driver: runc works"},
	FeaturePodman:     {"apt-get install podman", "driver: runc works"},
	FeatureDocker:     {"apt-get install docker.io", "driver: runc works"},
	FeatureContainerd: {"apt-get install containerd", "driver: runc works"},
	FeatureDNSMasq:    {"apt-get install dnsmasq-base", "management: {dns: false} works"},
	FeatureSSHServer:  {"apt-get install openssh-server", "a management network without ssh_keys works, and nines exec"},
	FeatureOverlay:    {"use a kernel with CONFIG_OVERLAY_FS, as those of distributions are", "nodes with runtime: netns and lxc work"},
	FeatureVeth:       {"use a kernel with CONFIG_VETH", ""},
	FeatureBridge:     {"use a kernel with CONFIG_BRIDGE", "links of kind veth and xdp work"},
	FeatureMacvlan:    {"use a kernel with CONFIG_MACVLAN", "links of kind veth, bridge and xdp work"},
	FeatureNetem:      {"use a kernel with CONFIG_NET_SCH_NETEM (Debian's have the module sch_netem)", "impair works on links of kind xdp and switch"},
	FeatureBTF:        {"use a kernel with CONFIG_DEBUG_INFO_BTF, as those of distributions are", "trace: false works"},
	FeatureXDPVeth:    {"use Linux 4.19 or newer with CONFIG_VETH and CONFIG_BPF_SYSCALL", "links of kind veth and bridge work"},
	FeatureAFXDP:      {"use a kernel with CONFIG_XDP_SOCKETS", "the backends udp, raw and ring work"},
	FeatureOVS:        {"apt-get install openvswitch-switch", "links of kind bridge and switch work"},
	FeatureOVSDPDK:    {"apt-get install openvswitch-switch-dpdk", "links of kind ovs and switch work"},
	FeatureOVN:        {"apt-get install ovn-central ovn-host", "links of kind vxlan and ovs work"},
	FeatureVXLAN:      {"use a kernel with CONFIG_VXLAN", "links of kind veth, bridge and xdp work"},
	FeatureQEMU:       {qemuversion.Remedy, "nodes with runtime: host, netns and lxc work"},
	FeatureTestpmd:    {"apt-get install dpdk-dev", "links of kind switch work"},
	FeatureVPP:        {"install vpp from packagecloud.io/fdio, or in a checkout: make setup-switches, and its folder in PATH", "links of kind switch and testpmd work"},

	FeatureThreadedNAPI:     {"use Linux 5.12 or newer", "rx: interrupt and awake work"},
	FeatureBusyPoll:         {"use Linux 6.9 or newer with CONFIG_NET_RX_BUSY_POLL, or Debian's 6.1 or 6.12, which take the module of busypoll/kmod/kbp", "rx: interrupt, awake and threaded work"},
	FeatureThreadedBusyPoll: {"use Linux 6.19 or newer", "polling: {mechanism: auto} takes what this kernel has"},
	FeatureIOUringNAPI:      {"use Linux 6.13 or newer, and sysctl kernel.io_uring_disabled=0", "polling: {mechanism: auto} takes what this kernel has"},
	FeatureEpollBusyPoll:    {"use Linux 6.9 or newer", "rx: interrupt, awake and threaded work"},
	FeatureIRQSuspend:       {"use Linux 6.13 or newer with CONFIG_NET_RX_BUSY_POLL", "wait: busy_poll works with rx: interrupt"},
	FeatureLivepatch:        {"use a kernel with CONFIG_LIVEPATCH, as Debian's are", "polling: {mechanism: auto} takes what this kernel has"},

	FeatureSnabb: {"build it from github.com/snabbco/snabb and put it into PATH (in a checkout: make setup-switches)", "links of kind switch and testpmd work"},
}

// WayToGet names a feature, and says how to get it where there is a way.
func WayToGet(name string) string {
	if r := remedies[name].remedy; r != "" {
		return name + ": " + r
	}
	return name
}

func checkFeatures(inv *Inventory, needs Needs) []Finding {
	var list []Finding
	for _, name := range namesOf(needs.Features) {
		f := inv.Feature(name)
		switch f.State {
		case StateNo:
			r := remedies[name]
			list = append(list, Finding{Severity: SeverityError, Capability: name, Problem: wantedBy(needs.Features, name) + ": " + f.Detail, Remedy: r.remedy, Works: r.works})
		case StateModule:
			list = append(list, Finding{Severity: SeverityNote, Capability: name, Problem: wantedBy(needs.Features, name) + ": " + f.Detail + " is loaded when it is first used"})
		case StateYes, StateUnknown:
		}
	}
	return list
}

func checkControllers(inv *Inventory, needs Needs) []Finding {
	var list []Finding
	for _, name := range namesOf(needs.Controllers) {
		if _, ok := inv.Cgroup.Controller(name); ok {
			continue
		}
		remedy := "mount the controller, or boot without cgroup_disable=" + name
		list = append(list, Finding{Severity: SeverityError, Capability: "cgroup " + name, Problem: wantedBy(needs.Controllers, name) + ": no " + name + " controller is mounted",
			Remedy: remedy, Works: "nodes that ask for no " + choose(name == "memory", "memory limit", "CPUs") + " work"})
	}
	return list
}

// namesOf returns each name once, sorted.
func namesOf(needs []Need) []string {
	var list []string
	for _, n := range needs {
		list = append(list, n.Name)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// wantedBy names the first one that needs a thing, and counts the others.
func wantedBy(needs []Need, name string) string {
	first, others := "", 0
	for _, n := range needs {
		switch {
		case n.Name != name || n.For == first:
		case first == "":
			first = n.For
		default:
			others++
		}
	}
	if others > 0 {
		return fmt.Sprintf("%s and %s need it", first, terminal.Count(others, "other"))
	}
	return first + " needs it"
}
