package spec

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"nines.dev/nines/terminal"
)

func (c *checker) node(name string, n *Node) {
	at := []string{"topology", "nodes", name}
	if n.CPUs > 0 && n.CPUList != "" {
		c.fail("cpus and cpu_list exclude each other", "", "keep cpu_list to name the CPUs, or cpus to let nines choose", under(at, "cpu_list")...)
	}
	c.rootfs(n, at)
	c.image(n, at)
	c.runtime(n, at)
	forms := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(n.Sysctls)) {
		dotted := strings.Join(sysctlSteps(key), "\x00")
		if other, twice := forms[dotted]; twice {
			c.failKey(fmt.Sprintf("%s is the same sysctl as %s", clip(key), clip(other)), "", "keep one of them", under(at, "sysctls", key)...)
		}
		forms[dotted] = key
		c.sysctl(n.Runtime.Descriptor().Sysctls, key, n.Sysctls[key], under(at, "sysctls", key))
	}
	c.rights(n, at)
	c.scheduling(name, n, at)
	c.nodeReceive(name, n, at)
	for i, arguments := range n.Exec {
		if arguments[0] == "" {
			c.fail("the program's name is empty", "", "", under(at, "exec", strconv.Itoa(i), "0")...)
		}
	}
	if n.Healthcheck != nil && len(n.Healthcheck.Exec) > 0 && n.Healthcheck.Exec[0] == "" {
		c.fail("the program's name is empty", "", "", under(at, "healthcheck", "exec", "0")...)
	}
	c.services(n, at)
	c.mounts(n, at)
	c.routes(name, n, at)
	if n.App != nil {
		c.app(name, n.App, under(at, "app"))
	}
}

// hostName refuses two nodes whose names are one name of a host (RFC 4343), and a pod whose name its cluster would not take.
func (c *checker) hostName(name string, hosts map[string]string) {
	at := []string{"topology", "nodes", name}
	host := strings.ToLower(name)
	if other, twice := hosts[host]; twice {
		c.failKey(fmt.Sprintf("%q and %q are one name of a host", name, other), "", "rename one of them", at...)
	}
	hosts[host] = name
	if c.e.Topology.Nodes[name].Runtime.Descriptor().Remote && !matches(namePattern, name) {
		c.failKey(fmt.Sprintf("%q cannot be a pod's name", name), nameForm, "", at...)
	}
}

// rights refuses to allow a node what it may do anyway.
func (c *checker) rights(n *Node, at []string) {
	if n.Privileged && len(n.Allow) > 0 {
		c.fail("a privileged node already has all of root's rights", "", "remove allow, or better privileged", under(at, "allow")...)
	}
}

// rootfs checks the file system of a node that can have one.
func (c *checker) rootfs(n *Node, at []string) {
	if n.Rootfs == nil || !n.Runtime.Descriptor().Takes("rootfs") {
		return
	}
	if n.Image != "" {
		for _, key := range []string{"kind", "release"} {
			if c.root.holds(under(at, "rootfs", key)) {
				c.fail("the node's files are those of its image", "", "remove it, or remove image; rootfs: {init: systemd} may stay", under(at, "rootfs", key)...)
			}
		}
		return
	}
	if n.Rootfs.Kind.Descriptor().Distribution {
		return
	}
	others := terminal.Listed(rootfsThat(func(d *RootfsDescriptor) bool { return d.Distribution }))
	if n.Rootfs.Release != "" {
		c.fail(fmt.Sprintf("a %s root file system has no release", n.Rootfs.Kind), "", "remove it, or write kind: "+others, under(at, "rootfs", "release")...)
	}
	if n.Rootfs.Init == InitSystemd {
		c.fail(fmt.Sprintf("a %s root file system has no systemd", n.Rootfs.Kind), "", "write kind: "+others+", or init: nines", under(at, "rootfs", "init")...)
	}
}

func (c *checker) mounts(n *Node, at []string) {
	targets := map[string]int{}
	for i, m := range n.Mounts {
		here := under(at, "mounts", strconv.Itoa(i))
		for _, one := range []struct{ key, path string }{{"source", m.Source}, {"target", m.Target}} {
			// "./data" beside the file is what people write.
			if clean := path.Clean(one.path); path.IsAbs(one.path) && clean != one.path && clean != strings.TrimSuffix(one.path, "/") {
				c.fail(fmt.Sprintf("%q is not the shortest form of the path", clip(one.path)), "", fmt.Sprintf("write %q", clip(clean)), under(here, one.key)...)
			}
		}
		target := path.Clean(m.Target)
		if target == "/" {
			c.fail("cannot mount over the whole root", "", "name a folder below it", under(here, "target")...)
		}
		if first, twice := targets[target]; twice {
			c.fail(fmt.Sprintf("%q is also the target of mount %d", target, first), "", "keep one of them", under(here, "target")...)
		}
		targets[target] = i
	}
}

// sysctl refuses a sysctl that belongs to no namespace of the node: writing it would silently
// change the host, and the change would outlast the lab. A virtual machine has its own copy of all
// of them.
func (c *checker) sysctl(scope SysctlScope, key, value string, at []string) {
	steps := sysctlSteps(key)
	for _, step := range steps {
		if step == "" || step == "." || step == ".." || strings.Contains(step, "/") && strings.Contains(step, "..") {
			c.failKey(fmt.Sprintf("%q is not a sysctl's name", clip(key)), "", "write it as sysctl prints it", at...)
			return
		}
	}
	dotted := strings.Join(steps, ".")
	switch {
	case scope == SysctlsOfKernel:
	case steps[0] == "net" && sharedByNetworks(dotted):
		c.failKey(fmt.Sprintf("%q belongs to the whole host: the kernel has it once for all networks, and a node cannot have its own", clip(key)), "",
			"set it on the host yourself (sysctl -w, or nines tune), or use runtime: vm, whose guest has its own kernel", at...)
	case steps[0] == "net":
	case scope == SysctlsOfNetwork:
		c.failKey(fmt.Sprintf("the node has only a network of its own, and %q would change the host", clip(key)), "net.*", "remove it, or use another runtime; "+inCase, at...)
	case !strings.HasPrefix(dotted, "fs.mqueue.") && !slices.Contains(ipcSysctls, dotted):
		c.failKey(fmt.Sprintf("%q belongs to the whole host, not to a node: setting it would change the host", clip(key)),
			"net.*, fs.mqueue.*, "+strings.Join(ipcSysctls, ", "), "set it on the host yourself, or use runtime: vm, whose guest has its own kernel", at...)
	}
	if strings.ContainsAny(value, "\n\r") {
		c.fail("the value has several lines", "", "write one line", at...)
	}
}

// sysctlSteps are the parts of a sysctl's name. As in sysctl(8), where the first separator is a slash, dots are plain
// text, so that "net/ipv4/conf/eth0.1/forwarding" can be named.
func sysctlSteps(key string) []string {
	if i := strings.IndexAny(key, "./"); i >= 0 && key[i] == '/' {
		return strings.Split(key, "/")
	}
	return strings.Split(key, ".")
}

// app checks that the node has the interfaces that its app needs.
func (c *checker) app(name string, a *App, at []string) {
	n := len(c.interfaces[name])
	if a.Handling().HasEngine() {
		c.polling(a.Backend, a.IO, a.Wait, c.endpointsOf(name), at...)
		if own := under(at, "backend"); c.root.holds(own) && c.e.Topology.Nodes[name].Runtime.Descriptor().Remote {
			c.remoteBackend(a.Backend, c.endpointsOf(name), own...)
		}
	}
	d, has := a.Kind.Descriptor(), strconv.Itoa(n)
	if n == 0 {
		has = "none"
	}
	if n < d.Least || d.Most > 0 && n > d.Most {
		c.fail(fmt.Sprintf("%s %s, and %q has %s", a.Kind, d.Needs, name, has), "", d.Remedy, under(at, "kind")...)
	}
	c.ownDevice(a, at)
	if a.Dynamic && !a.Handling().Routes() {
		c.fail(fmt.Sprintf("%s needs no routes", a.Kind), "", "remove it, or use kind: route", under(at, "dynamic")...)
	}
	if d.Engine {
		return
	}
	if a.Work > 0 {
		c.fail(fmt.Sprintf("with %s there is no engine that could work", a.Kind), "", "remove it, or use kind: forward", under(at, "work")...)
	}
	who := "the kernel forwards"
	if d.Device {
		who = "your device handles packets"
	}
	for _, set := range []struct{ key, value string }{
		{"backend", string(a.Backend)}, {"io", string(a.IO)}, {"wait", string(a.Wait)},
	} {
		if set.value != "" {
			c.fail(fmt.Sprintf("with %s %s, so there is no %s", a.Kind, who, set.key), "", "remove it, or use kind: forward", under(at, set.key)...)
		}
	}
}

// ownDevice checks the keys of a device of the user's.
func (c *checker) ownDevice(a *App, at []string) {
	if !a.Handling().IsDevice() {
		for _, set := range []struct{ key, value string }{{"leaves", string(a.Leaves)}, {"forwarding", string(a.Forwarding)}} {
			if set.value != "" {
				c.fail(fmt.Sprintf("%s is for a device of your own, and nines' %s is known", set.key, a.Kind), "", "remove it, or write kind: device", under(at, set.key)...)
			}
		}
		return
	}
	if a.Forwarding == ForwardedByKernel && a.Leaves != "" && !a.Leaves.Descriptor().Routes {
		c.fail(fmt.Sprintf("the kernel forwards IP, and so no packet leaves %s", a.Leaves), terminal.Listed([]string{string(LeavesRouted), string(LeavesTranslated)}),
			"remove it, or write leaves: "+string(LeavesRouted), under(at, "forwarding")...)
	}
}

// ParseCPUList reads the kernel's form of a set of CPUs, "2-3,8", in rising order.
func ParseCPUList(text string) ([]int, error) {
	if !matches(cpuListPattern, text) {
		return nil, fmt.Errorf("%q is not a list of CPUs", clip(text))
	}
	var cpus []int
	for _, part := range strings.Split(text, ",") {
		from, to, isRange := strings.Cut(part, "-")
		first, err := strconv.Atoi(from)
		if err != nil {
			return nil, err
		}
		last := first
		if isRange {
			if last, err = strconv.Atoi(to); err != nil {
				return nil, err
			}
		}
		if last < first {
			return nil, fmt.Errorf("the range %s runs backwards", part)
		}
		if last > maxCPU {
			return nil, fmt.Errorf("CPU %d is beyond %d, the last that the engine knows", last, maxCPU)
		}
		for cpu := first; cpu <= last; cpu++ {
			cpus = append(cpus, cpu)
		}
	}
	slices.Sort(cpus)
	for i := 1; i < len(cpus); i++ {
		if cpus[i] == cpus[i-1] {
			return nil, fmt.Errorf("CPU %d is listed twice", cpus[i])
		}
	}
	return cpus, nil
}

// cpuList reads a list that the decoder has checked; nil for an empty one.
func cpuList(text string) []int {
	cpus, _ := ParseCPUList(text)
	return cpus
}
