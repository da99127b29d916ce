package link

import (
	"fmt"
	"path/filepath"
	"strings"

	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// vppFiles are the files of one VPP, all in one folder.
type vppFiles struct{ dir string }

func (f vppFiles) startup() string { return filepath.Join(f.dir, "startup.conf") }
func (f vppFiles) cli() string     { return filepath.Join(f.dir, "cli.sock") }

// vppConfig is the configuration of an instance of VPP.
type vppConfig struct {
	Files vppFiles
	// Name separates VPP's shared memory from another instance's.
	Name            string
	PollCPUs        []int
	HousekeepingCPU int
	MTU             int
	Huge            bool
	Ports           []vppPort
}

// vppPort is a port of VPP.
type vppPort struct {
	Attach plan.Attach
	// Socket is the socket of a vhost-user port; the node listens on it.
	Socket string
	// Device is the fabric's end of a veth pair.
	Device string
}

// startup is startup.conf; see "Configuration Reference" in VPP's documentation. It does not load
// the DPDK plugin, which would take the host's PCI devices, and keeps all files in the instance's
// folder.
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
	section("buffers", fmt.Sprintf("buffers-per-numa %d", spec.VPPBuffers(len(c.Ports))),
		fmt.Sprintf("default data-size %d", spec.VPPDataBytes(c.MTU)), pages)
	section("plugins", "plugin dpdk_plugin.so { disable }")
	return b.String()
}

// cpus puts the main thread on the housekeeping CPU and a worker on each polling CPU. A CPU that is
// both has no worker: the main thread polls there.
func (c vppConfig) cpus() []string {
	lines := []string{fmt.Sprintf("main-core %d", c.HousekeepingCPU)}
	var workers []int
	for _, cpu := range c.PollCPUs {
		if cpu != c.HousekeepingCPU {
			workers = append(workers, cpu)
		}
	}
	if len(workers) > 0 {
		lines = append(lines, "corelist-workers "+cpulist.Format(workers))
	}
	return lines
}

// name is VPP's name of the port: numbered by kind, or derived from the device's name.
func (p vppPort) name(number int) string {
	switch p.Attach {
	case plan.AttachVhost:
		return fmt.Sprintf("VirtualEthernet0/0/%d", number)
	case plan.AttachVeth:
		return "host-" + p.Device
	}
	return ""
}

// ports are VPP's names of the ports, in the order of the endpoints.
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
			// With them, VPP lets the kernel expect a virtio_net_hdr before each packet
			// (PACKET_VNET_HDR), and writes none where the device has neither, as nines sets it.
			list = append(list, "create host-interface name "+p.Device+" cksum-gso-disable")
		default:
			return nil, fmt.Errorf("the plan has no attachment for an endpoint to VPP (attach is %q)", p.Attach)
		}
	}
	for _, name := range names {
		list = append(list, "set interface state "+name+" up")
	}
	// The default ageing time of a bridge domain is 0: addresses never age.
	for _, name := range names {
		list = append(list, "set interface l2 bridge "+name+" 1")
	}
	return list, nil
}
