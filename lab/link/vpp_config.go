package link

import (
	"fmt"
	"path/filepath"
	"strings"

	"nines.dev/nines/host"
	"nines.dev/nines/plan"
)

// vppFiles are the files of one VPP, all in one folder.
type vppFiles struct{ dir string }

func (f vppFiles) startup() string { return filepath.Join(f.dir, "startup.conf") }
func (f vppFiles) cli() string     { return filepath.Join(f.dir, "cli.sock") }

// vppConfig is what an instance of VPP is told.
type vppConfig struct {
	Files vppFiles
	// Name keeps what VPP puts in shared memory apart from another's.
	Name            string
	PollCPUs        []int
	HousekeepingCPU int
	MTU             int
	Huge            bool
	Ports           []vppPort
}

// vppPort is an endpoint as VPP meets it.
type vppPort struct {
	Attach plan.Attach
	// Socket is that of a vhost-user port, on which the node listens.
	Socket string
	// Device is the fabric's end of a veth pair.
	Device string
}

// vppBuffersPerPort fill a queue of 1024 in each direction twice over.
const vppBuffersPerPort = 4096

// startup is startup.conf; see "Configuration Reference" in VPP's documentation. No
// plugin of DPDK's is loaded, which would take the host's PCI devices, and everything
// is in the instance's folder.
func (c vppConfig) startup() string {
	var b strings.Builder
	section := func(name string, lines ...string) {
		fmt.Fprintf(&b, "%s {\n  %s\n}\n", name, strings.Join(lines, "\n  "))
	}
	dir := c.Files.dir
	section("unix", "nodaemon", "nosyslog", "nobanner", "nocolor",
		"runtime-dir "+dir, "cli-listen "+c.Files.cli())
	section("api-segment", "prefix "+c.Name)
	section("socksvr", "socket-name "+filepath.Join(dir, "api.sock"))
	section("statseg", "socket-name "+filepath.Join(dir, "stats.sock"))
	section("cpu", c.cpus()...)
	pages := "page-size 4k"
	if c.Huge {
		pages = "page-size default-hugepage"
	}
	section("buffers", fmt.Sprintf("buffers-per-numa %d", max(16384, vppBuffersPerPort*len(c.Ports))),
		fmt.Sprintf("default data-size %d", vppDataBytes(c.MTU)), pages)
	section("plugins", "plugin dpdk_plugin.so { disable }")
	return b.String()
}

// cpus gives the main thread the housekeeping CPU and each CPU that polls a worker; a
// CPU that is both has no worker, and its main thread polls.
func (c vppConfig) cpus() []string {
	lines := []string{fmt.Sprintf("main-core %d", c.HousekeepingCPU)}
	var workers []int
	for _, cpu := range c.PollCPUs {
		if cpu != c.HousekeepingCPU {
			workers = append(workers, cpu)
		}
	}
	if len(workers) > 0 {
		lines = append(lines, "corelist-workers "+host.FormatCPUList(workers))
	}
	return lines
}

// vppDataBytes is the size of a buffer's data: VPP's default, or a whole longer frame
// in one buffer, in steps of a cache line.
func vppDataBytes(mtu int) int {
	const usual, ethernet, line = 2048, 18, 64
	return max(usual, (mtu+ethernet+line-1)/line*line)
}

// name is the port's as VPP calls it: counted by kind, and for a device by its own.
func (p vppPort) name(number int) string {
	switch p.Attach {
	case plan.AttachVhost:
		return fmt.Sprintf("VirtualEthernet0/0/%d", number)
	case plan.AttachVeth:
		return "host-" + p.Device
	}
	return ""
}

// ports are the names in the order of the endpoints.
func (c vppConfig) ports() []string {
	var names []string
	counts := map[plan.Attach]int{}
	for _, p := range c.Ports {
		names = append(names, p.name(counts[p.Attach]))
		counts[p.Attach]++
	}
	return names
}

// commands are given over the CLI, one at a time; see "VPP CLI Reference".
func (c vppConfig) commands() ([]string, error) {
	names := c.ports()
	var list []string
	for _, p := range c.Ports {
		switch p.Attach {
		case plan.AttachVhost:
			list = append(list, "create vhost-user socket "+p.Socket)
		case plan.AttachVeth:
			list = append(list, "create host-interface name "+p.Device)
		default:
			return nil, fmt.Errorf("the plan does not say how an endpoint meets VPP (attach is %q)", p.Attach)
		}
	}
	for _, name := range names {
		list = append(list, "set interface state "+name+" up")
	}
	// The ageing time of a bridge domain is 0, for good, if nothing else is said.
	for _, name := range names {
		list = append(list, "set interface l2 bridge "+name+" 1")
	}
	return list, nil
}
