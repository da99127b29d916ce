package dryrun

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/lab/isolate"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
	"nines.dev/nines/terminal"
)

// Steps says what Up would make for a plan, in order, one line per step. It makes nothing and does
// not look at the host.
func Steps(p *plan.Plan) []string {
	var steps []string
	add := func(format string, args ...any) { steps = append(steps, fmt.Sprintf(format, args...)) }
	add("lab %s: keep its state in %s", p.Name, state.Of(p.Name).Dir)
	hostScriptSteps(add, p)
	hugepageSteps(add, p)
	if p.Tuning != "" {
		add("host: settings of the profile %s for CPUs %s, until the lab goes; nines tune plan --for FILE lists them",
			p.Tuning, cpulist.Format(p.TunedCPUs()))
	}
	add("fabric: start nines-init in namespaces of its own, named %s", p.FabricName())
	portSteps(add, p)
	for _, l := range p.Links {
		functionSteps(add, l)
	}
	isolationSteps(add, p)
	for _, n := range p.Nodes {
		nodeSteps(add, p, n)
	}
	for _, l := range p.Links {
		linkSteps(add, p, l)
		if l.Management {
			managementSteps(add, p)
		}
		for _, one := range l.Impairments {
			add("link %s: impair what %s sends, by %s: %s", l.Name, one.From, one.ByText(), one)
		}
	}
	for _, n := range p.Nodes {
		if g := node.GuestOf(n); g != nil {
			for _, step := range g.BootSteps(n) {
				add("node %s: %s", n.Name, step)
			}
		}
	}
	offloads := map[string]string{} // by link
	for _, l := range p.Links {
		offloads[l.Name] = l.OffloadText()
	}
	for _, n := range p.Nodes {
		for _, i := range n.Interfaces {
			if !i.InKernel() || n.Remote() {
				continue
			}
			add("node %s: interface %s: offloads %s, addresses %s, %d static neighbours, up",
				n.Name, i.Name, offloads[i.Link], strings.Join(i.Addresses, " "), len(i.Neighbours))
		}
		for _, r := range n.Routes {
			add("node %s: route to %s", n.Name, strings.Join(strings.Fields(r.To+" "+prefixed("via ", r.Via)+" "+prefixed("dev ", r.Interface)), " "))
		}
	}
	for _, n := range p.Nodes {
		if node.Waits(n) {
			startStep(add, n)
		}
	}
	for _, n := range p.Nodes {
		if n.Receive != nil {
			receiveSteps(add, n)
		}
	}
	for _, n := range p.Nodes {
		if n.App.Handling().HasEngine() {
			add("node %s: start nines-engine on %s to %s", n.Name, engineCPU(n.App.CPU), n.App.Kind)
		}
		for _, argv := range n.Exec {
			add("node %s: run %s", n.Name, strings.Join(argv, " "))
		}
		for _, s := range n.Services {
			add("node %s: start nines keep, which runs %s as service %s", n.Name, s.Run[0], s.Name)
		}
	}
	for _, d := range p.Disturbances {
		add("disturb %s: start nines-disturb, %s on %s for %v in every %v", d.Name, d.Kind, d.Where(), d.Length, d.Period)
	}
	powerSteps(add, p.Power)
	return steps
}

func hostScriptSteps(add func(string, ...any), p *plan.Plan) {
	if p.Scripts == nil {
		return
	}
	if s := p.Scripts.HostTeardown; s != "" {
		add("host: store the script %s, which runs after everything else is removed", s)
	}
	if s := p.Scripts.HostSetup; s != "" {
		add("host: run the script %s, for at most %v", s, p.Scripts.Timeout)
	}
}

func powerSteps(add func(string, ...any), p *plan.Power) {
	if p == nil {
		return
	}
	if host, has := p.RedfishHost(); has {
		add("power: listen at tcp %s for Redfish, for %s", host, terminal.Count(len(p.Nodes), "node"))
	}
	for _, n := range p.Nodes {
		if n.Port != 0 {
			add("power: listen at udp %s for IPMI, for node %s", p.IPMI(n), n.Name)
		}
	}
	add("power: start nines bmc, with these sockets and the password in %s", p.PasswordFile)
}

func hugepageSteps(add func(string, ...any), p *plan.Plan) {
	if p.Hugepages == nil || p.Hugepages.Mode == spec.HugepagesNone {
		return
	}
	for _, d := range p.Hugepages.Demands {
		if p.Hugepages.Mode == spec.HugepagesReserve {
			add("hugepages: see that %s finds %d of %d KiB on NUMA node %d, and reserve what is missing", d.Who, d.Pages, p.Hugepages.PageBytes>>10, d.MemoryNode)
		} else {
			add("hugepages: %s takes %d of %d KiB on NUMA node %d from those that are free", d.Who, d.Pages, p.Hugepages.PageBytes>>10, d.MemoryNode)
		}
	}
}

func prefixed(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

func readOnly(m spec.Mount) string {
	if m.ReadOnly {
		return ", read-only"
	}
	return ""
}

func startStep(add func(string, ...any), n plan.Node) {
	add("node %s: %s, named %s", n.Name, node.RuntimeOf(n).StartStep(n), n.HostName)
}

func nodeSteps(add func(string, ...any), p *plan.Plan, n plan.Node) {
	if n.Runtime.Descriptor().Restarts() {
		add("node %s: start nines-init, which holds its network namespace for what runs in it", n.Name)
	}
	if !node.Waits(n) {
		startStep(add, n)
	}
	if n.Privileged {
		add("node %s: let its processes do what root on the host may", n.Name)
	}
	group := filepath.Join(isolate.Parent(p, n), n.HostName)
	for _, c := range isolate.Controllers(p, n) {
		switch c {
		case isolate.CPUSet:
			add("node %s: control group %s with CPUs %s", n.Name, group, cpulist.Format(n.CPUs))
		case isolate.Memory:
			add("node %s: control group %s with %d bytes of memory", n.Name, group, n.MemoryBytes)
		case isolate.HugeTLB:
			add("node %s: control group %s with at most %d hugepages of %d KiB", n.Name, group, n.HugepageBytes/n.HugepageSize, n.HugepageSize>>10)
		case isolate.PIDs:
			add("node %s: control group %s with at most %d processes", n.Name, group, isolate.MostProcesses)
		}
	}
	if names := node.NameTargets(p, n); len(names) > 0 {
		add("node %s: let it know the other nodes' names, by nines' %s", n.Name, strings.Join(names, ", "))
	}
	for _, m := range n.Mounts {
		add("node %s: show %s at %s%s", n.Name, m.Source, m.Target, readOnly(m))
	}
	if n.Scripts.Any() {
		add("node %s: make the folder of its scripts, %s, with the command that they call", n.Name, filepath.Join(state.Of(p.Name).Scripts(), n.Name))
	}
	if len(n.Devices) > 0 {
		add("node %s: allow it to open %s", n.Name, strings.Join(n.Devices, " "))
	}
	if !n.Remote() {
		add("node %s: link %s/%s to its network namespace", n.Name, netns.Dir, n.HostName)
	}
	for _, name := range slices.Sorted(maps.Keys(n.Sysctls)) {
		add("node %s: sysctl %s=%s", n.Name, name, n.Sysctls[name])
	}
	switch forwards, known := n.KernelForwards(); {
	case !known:
	case forwards:
		add("node %s: let the kernel forward IPv4 and IPv6", n.Name)
	default:
		add("node %s: keep the kernel from forwarding IPv4 and IPv6", n.Name)
	}
}

func linkSteps(add func(string, ...any), p *plan.Plan, l plan.Link) {
	d := l.Kind.Descriptor()
	switch {
	case l.Switch != nil:
		programSteps(add, p, l)
		return
	case d.End.IsHardware():
		moveSteps(add, l)
		return
	case d.Claimed:
		for _, e := range l.Endpoints {
			add("link %s: the pod of %s claims %s of its node", l.Name, e.Node, e.Interface)
		}
		return
	case d.Remote:
		add("link %s: nothing to make, as the cluster's network joins all its pods", l.Name)
		return
	case d.End == spec.EndNone && len(l.Endpoints) == 2:
		add("link %s: shared memory between %s and %s, at the socket %s", l.Name, l.Endpoints[0].Name(),
			l.Endpoints[1].Name(), link.SocketPath(link.SocketsDir(state.Of(p.Name).Dir), l.Endpoints[0].Socket))
		return
	case l.Device != "":
		add("link %s: %s %s in the fabric", l.Name, d.Device, l.Device)
	}
	switch {
	case d.InFabric:
		for _, e := range l.Endpoints {
			add("link %s: %s %s and %s in the fabric, MTU %d", l.Name, pairName(e), e.Name(), e.FabricDevice, l.MTU)
		}
	case d.Device != "":
		for _, e := range l.Endpoints {
			add("link %s: %s %s on %s, MTU %d", l.Name, d.End, e.Name(), cmp.Or(l.Parent, l.Device), l.MTU)
		}
	case len(l.Endpoints) == 2:
		what := "veth pair"
		if l.Endpoints[0].Guest || l.Endpoints[1].Guest {
			what = "tap between"
		}
		add("link %s: %s %s and %s, MTU %d", l.Name, what, l.Endpoints[0].Name(), l.Endpoints[1].Name(), l.MTU)
	}
	if last := link.Of(l.Kind).Last; last != nil {
		add("link %s: %s", l.Name, last(l))
	}
}

// programSteps are the steps of a link with a program between its endpoints.
func programSteps(add func(string, ...any), p *plan.Plan, l plan.Link) {
	for _, e := range l.Endpoints {
		switch {
		case e.Attach == plan.AttachVeth || e.FabricDevice != "":
			add("link %s: %s %s and %s in the fabric, MTU %d", l.Name, pairName(e), e.Name(), e.FabricDevice, l.MTU)
		case e.Socket != "":
			who := map[bool]string{true: "the program listens", false: "the node listens"}[e.SocketServer]
			add("link %s: %s meets the program over %s at the socket %s, where %s", l.Name, e.Name(), e.Attach,
				link.SocketPath(link.SocketsDir(state.Of(p.Name).Dir), e.Socket), who)
		}
	}
	where := "on CPU " + cpulist.Format(l.Switch.CPUs)
	if len(l.Switch.CPUs) == 0 {
		where = "with the kernel's datapath"
	}
	add("link %s: start the program of kind %s in the fabric, %s, with its files in %s", l.Name, l.Kind, where,
		filepath.Join(state.Of(p.Name).Switches(), l.Name))
}

// pairName says what joins a node's interface and the fabric: a veth pair or a tap.
func pairName(e plan.Endpoint) string {
	if e.Guest {
		return "tap of QEMU's for"
	}
	return "veth pair"
}
