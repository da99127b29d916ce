package link

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/kernel/tasks"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// The Names of Open vSwitch's programs in the journal.
const (
	ovsServerProgram = "ovsdb-server"
	ovsSwitchProgram = "ovs-vswitchd"
)

// ovsSeconds bounds each call of ovs-vsctl, which waits until ovs-vswitchd has applied the change;
// AF_XDP ports take about half a second each.
const ovsSeconds = 30

// ovs is one link's instance of Open vSwitch: ovsdb-server and ovs-vswitchd with their own
// database, sockets and network namespace.
//
//	node ─ IF ── FABRIC_DEVICE ─┐ ovsdb-server's namespace  ┌─ FABRIC_DEVICE ── IF ─ node
//	                            └─ br0 of ovs-vswitchd ─────┘
//
// The namespace is not the fabric's because the userspace datapath has a tap device whose name is
// fixed, ovs-netdev (dpif_netdev_port_open_type in lib/dpif-netdev.c): two instances cannot share a
// namespace. ovsdb-server holds it, so that the nodes' interfaces stay when ovs-vswitchd dies.
type ovs struct {
	*Site
	link plan.Link
	// suffix tells the programs of a link's instances apart; empty where there is one.
	suffix   string
	programs ovsPrograms
	files    ovsFiles
	server   *Process
	vswitchd *Process
}

// makeOVS joins kernel endpoints by Open vSwitch: the kernel's datapath if it has one,
// else the datapath in userspace with AF_XDP ports, or AF_PACKET ports where the
// build, the kernel or the MTU does not allow those.
func makeOVS(ctx context.Context, s *Site, l plan.Link, endpoints []plan.Endpoint) error {
	config := ovsConfig{Datapath: ovsUserDatapath, MTU: l.MTU}
	if kernelHasOVS() {
		config.Datapath = ovsKernelDatapath
	}
	return s.startOVS(ctx, l, endpoints, config)
}

// startOVS starts an instance and adds its ports.
func (s *Site) startOVS(ctx context.Context, l plan.Link, endpoints []plan.Endpoint, config ovsConfig) error {
	if l.Switch == nil {
		return errors.New("the plan assigns it no CPUs")
	}
	find := findOVS
	if config.DPDK != nil {
		find = findOVSWithDPDK
	}
	programs, err := find(l.Kind)
	if err != nil {
		return err
	}
	dir, err := s.RunDir(l)
	if err != nil {
		return err
	}
	o := &ovs{Site: s, link: l, programs: programs, files: ovsFiles{dir}}
	if config.Datapath == ovsUserDatapath {
		config.PollCPUs = l.Switch.CPUs
		if len(config.PollCPUs) == 0 {
			// The plan assumed the kernel's datapath, but its module cannot be loaded.
			config.PollCPUs = []int{l.Switch.HousekeepingCPU}
		}
	}
	config.HousekeepingCPU = l.Switch.HousekeepingCPU
	config.Forwarding = l.Switch.Settings.Forwarding
	if config.Ports, err = o.ports(endpoints, config.Datapath); err != nil {
		return err
	}
	flows, err := config.flows()
	if err != nil {
		return err
	}
	if err := o.startServer(ctx); err != nil {
		return err
	}
	holder := o.server.holder()
	if err := o.Fresh.Begin(holder); err != nil {
		return err
	}
	if err := s.addPairsAt(holder, l, endpoints); err != nil {
		return err
	}
	s.own(l, holder)
	if _, err := o.vsctl(ctx, config.start()...); err != nil {
		return err
	}
	if err := o.startSwitch(ctx, config); err != nil {
		return err
	}
	if err := o.join(ctx, &config); err != nil {
		return withLog(err, o.vswitchd.Log)
	}
	// The bridge's own port leads to the kernel, where nothing listens, and costs a system call for
	// each flooded packet.
	commands := [][]string{{"mod-port", "unix:" + o.files.management(), ovsBridge, "no-flood"}}
	for _, flow := range flows {
		commands = append(commands, []string{"add-flow", "unix:" + o.files.management(), flow})
	}
	for _, command := range commands {
		if _, err := s.Run(ctx, l, o.files.environment(), append([]string{programs.ofctl}, command...)...); err != nil {
			return withLog(err, o.vswitchd.Log)
		}
	}
	o.recordSettings(ctx, config)
	return nil
}

// ports returns a port for each endpoint; the kind of port for a kernel device is decided when the
// instance runs.
func (o *ovs) ports(endpoints []plan.Endpoint, datapath string) ([]ovsPort, error) {
	var ports []ovsPort
	for i, e := range endpoints {
		switch {
		case e.Attach == plan.AttachVeth && (datapath == ovsKernelDatapath || o.link.MTU > ovsAFXDPMTU):
			ports = append(ports, ovsPort{Name: e.FabricDevice, Type: ovsAFPacket})
		case e.Attach == plan.AttachVeth:
			ports = append(ports, ovsPort{Name: e.FabricDevice, Type: ovsAFXDP})
		case e.Attach == plan.AttachVhost && o.link.Kind.Descriptor().DPDK == spec.DPDKVhost:
			socket, err := o.Socket(o.link, e)
			if err != nil {
				return nil, err
			}
			ports = append(ports, ovsPort{Name: vhostPort(i), Type: ovsVhostUser, Socket: socket})
		default:
			return nil, fmt.Errorf("the endpoint %s:%s cannot attach to %s (attach is %q)", e.Node, e.Interface, o.link.Kind, e.Attach)
		}
	}
	return ports, nil
}

// vhostPort is the name of the port of an endpoint, by its place in the link.
func vhostPort(index int) string { return fmt.Sprintf("vhost%d", index+1) }

// ovsAFXDPMTU is the largest MTU at which a veth takes an XDP program without support for
// fragments, such as OVS's (veth_xdp_set in drivers/net/veth.c: a page without XDP's headroom,
// struct skb_shared_info and the Ethernet header; 3520 bytes with 4 KiB pages, and some room for
// other kernels).
const ovsAFXDPMTU = 3400

// startServer creates the database and starts its server in a new network namespace.
func (o *ovs) startServer(ctx context.Context) error {
	if _, err := o.Run(ctx, o.link, o.files.environment(), o.programs.tool, "create", o.files.database()); err != nil {
		return err
	}
	var err error
	o.server, err = o.Start(ctx, o.link, Program{
		Name: ovsServerProgram + o.suffix,
		Argv: append([]string{o.programs.unshare, "--net", "--", o.programs.server}, o.files.serverArguments()...),
		Env:  o.files.environment(),
		CPUs: []int{o.link.Switch.HousekeepingCPU},
		Ready: func(ctx context.Context) error {
			_, err := o.vsctl(ctx, "--no-wait", "init")
			return err
		},
	})
	return err
}

// startSwitch starts ovs-vswitchd in the namespaces of its database server. Its own threads stay on
// the housekeeping CPU; pmd-cpu-mask binds those that poll.
func (o *ovs) startSwitch(ctx context.Context, config ovsConfig) error {
	var err error
	o.vswitchd, err = o.Start(ctx, o.link, Program{
		Name:   ovsSwitchProgram + o.suffix,
		Argv:   append([]string{o.programs.vswitchd}, o.files.switchArguments()...),
		Env:    o.files.environment(),
		CPUs:   []int{config.HousekeepingCPU},
		Inside: o.server,
		Ready: func(ctx context.Context) error {
			// ovs-vswitchd writes this after it has read its configuration and set up DPDK.
			types, err := o.vsctl(ctx, "--no-wait", "get", "Open_vSwitch", ".", "iface_types")
			if err == nil && types == "[]" {
				err = errors.New("it has not read its configuration yet")
			}
			return err
		},
	})
	return err
}

// join makes the bridge and its ports. AF_XDP ports that fail become AF_PACKET ports. The main
// thread serves those, so it then gets the link's CPUs.
func (o *ovs) join(ctx context.Context, config *ovsConfig) error {
	if err := o.preferAFXDP(ctx, config); err != nil {
		return err
	}
	if _, err := o.vsctl(ctx, config.bridge()...); err != nil {
		return err
	}
	err := o.refused(ctx)
	if err != nil && config.usesType(ovsAFXDP) {
		config.replaceType(ovsAFXDP, ovsAFPacket)
		for _, p := range config.Ports {
			if _, err := o.vsctl(ctx, "set", "Interface", p.Name, "type="+p.Type); err != nil {
				return err
			}
		}
		err = o.refused(ctx)
	}
	if err != nil {
		return err
	}
	if config.Datapath == ovsUserDatapath && config.usesType(ovsAFPacket) {
		return tasks.Bind(o.vswitchd.PID, config.PollCPUs)
	}
	return nil
}

// preferAFXDP keeps AF_XDP ports where this build of Open vSwitch supports them.
func (o *ovs) preferAFXDP(ctx context.Context, config *ovsConfig) error {
	if !config.usesType(ovsAFXDP) {
		return nil
	}
	types, err := o.vsctl(ctx, "--no-wait", "get", "Open_vSwitch", ".", "iface_types")
	if err != nil {
		return err
	}
	if !strings.Contains(types, ovsAFXDP) {
		config.replaceType(ovsAFXDP, ovsAFPacket)
	}
	return nil
}

func (c *ovsConfig) usesType(name string) bool {
	for _, p := range c.Ports {
		if p.Type == name {
			return true
		}
	}
	return false
}

func (c *ovsConfig) replaceType(old, name string) {
	for i := range c.Ports {
		if c.Ports[i].Type == old {
			c.Ports[i].Type = name
		}
	}
}

// vsctl runs ovs-vsctl on the link's database.
func (o *ovs) vsctl(ctx context.Context, arguments ...string) (string, error) {
	argv := append([]string{
		o.programs.vsctl, "--db=unix:" + o.files.socket(), fmt.Sprintf("--timeout=%d", ovsSeconds),
		"-vsyslog:off",
	}, arguments...)
	if o.vswitchd == nil {
		return o.Run(ctx, o.link, o.files.environment(), argv...)
	}
	// ovs-vsctl waits for ovs-vswitchd, which may die.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer o.vswitchd.onEnd(cancel)()
	out, err := o.Run(ctx, o.link, o.files.environment(), argv...)
	if err != nil && !o.vswitchd.Alive() {
		err = fmt.Errorf("%s has ended: %w", ovsSwitchProgram, err)
	}
	return out, err
}

// refused returns an error with the ports that ovs-vswitchd could not make.
func (o *ovs) refused(ctx context.Context) error {
	ports, err := ovsInterfaces(ctx, o.files.socket())
	if err != nil {
		return err
	}
	return refusedPorts(ports)
}

func refusedPorts(ports []ovsInterface) error {
	var refused []string
	for _, p := range ports {
		if reason, works := p.works(); !works {
			refused = append(refused, strings.TrimSuffix(p.Name+": "+reason, ": "))
		}
	}
	if len(refused) > 0 {
		return fmt.Errorf("%s could not add the ports %s", ovsSwitchProgram, strings.Join(refused, ", "))
	}
	return nil
}

// recordSettings records the instance's settings and version.
func (o *ovs) recordSettings(ctx context.Context, config ovsConfig) {
	values := map[string]string{
		"datapath":       map[string]string{ovsKernelDatapath: "kernel", ovsUserDatapath: "userspace"}[config.Datapath],
		"forwarding":     string(config.Forwarding),
		"ageing_seconds": strconv.Itoa(ovsAgeingSeconds),
	}
	if version, err := o.Run(ctx, o.link, nil, o.programs.vswitchd, "--version"); err == nil {
		values["version"], _, _ = strings.Cut(version, "\n")
	}
	if config.DPDK != nil {
		if version, err := o.vsctl(ctx, "--no-wait", "get", "Open_vSwitch", ".", "dpdk_version"); err == nil {
			values["dpdk"] = strings.Trim(version, `"`)
		}
	}
	for _, p := range config.Ports {
		values["port "+p.Name] = map[string]string{
			ovsAFXDP: "AF_XDP", ovsVhostUser: "vhost-user", ovsAFPacket: "AF_PACKET",
		}[p.Type]
		if config.Datapath == ovsKernelDatapath {
			values["port "+p.Name] = "kernel"
		}
	}
	if len(config.PollCPUs) > 0 {
		values["cpus"] = cpulist.Format(config.PollCPUs)
	}
	o.record("", o.link.Name, ovsSwitchProgram, values)
}

// kernelHasOVS asks for the generic netlink family of the kernel's datapath, which loads the module
// if it exists (include/uapi/linux/openvswitch.h).
func kernelHasOVS() bool {
	_, err := netlink.GenlFamilyGet("ovs_datapath")
	return err == nil
}
