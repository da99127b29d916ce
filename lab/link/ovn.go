package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/kernel/cpulist"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/kernel/tasks"
	"nines.dev/nines/plan"
)

// ovn is one link's instance of OVN: the central databases with ovn-northd in the lab's fabric, and two
// hosts, each with an Open vSwitch and an ovn-controller in a network namespace of its own.
//
//	            ovsdb-server (north- and southbound), ovn-northd
//	                  │ unix socket               │
//	          ovn-controller                ovn-controller
//	node ─ IF ── FABRIC_DEVICE ─ br-int     br-int ─ FABRIC_DEVICE ── IF ─ node
//	                              │ Geneve    │
//	                          underlay ═════ underlay (eth0 ═ eth0)
type ovn struct {
	*Site
	link     plan.Link
	programs ovnPrograms
	files    ovnFiles
	hosts    [2]*ovs
}

// The Names of OVN's programs in the journal; those of a host end with its number.
const (
	ovnCentralProgram    = "ovn-central"
	ovnNorthProgram      = "ovn-northd"
	ovnControllerProgram = "ovn-controller"
)

// makeOVN joins two nodes by a logical switch of OVN, by the userspace datapath.
func makeOVN(ctx context.Context, s *Site, l plan.Link, endpoints []plan.Endpoint) error {
	if l.Switch == nil {
		return errors.New("the plan assigns it no CPUs")
	}
	if len(endpoints) != 2 {
		return fmt.Errorf("joins two endpoints, not %d", len(endpoints))
	}
	programs, err := findOVN(l.Kind)
	if err != nil {
		return err
	}
	dir, err := s.RunDir(l)
	if err != nil {
		return err
	}
	o := &ovn{Site: s, link: l, programs: programs, files: ovnFiles{dir}}
	if err := o.startCentral(ctx); err != nil {
		return err
	}
	var holders [2]Holder
	for i := range o.hosts {
		if holders[i], err = o.makeHost(ctx, i); err != nil {
			return err
		}
	}
	u, err := s.makeUnderlay(l, holders, geneveHead)
	if err != nil {
		return err
	}
	var macs [2]string
	for i, e := range endpoints {
		if macs[i], err = o.join(ctx, u, i, e); err != nil {
			return withLog(fmt.Errorf("%s: %w", hostName(i), err), o.hosts[i].vswitchd.Log)
		}
	}
	if err := o.makeLogicalSwitch(ctx, macs); err != nil {
		return err
	}
	o.recordSettings(ctx)
	return nil
}

// startCentral creates the databases, and starts their server and what translates from the one to the
// other.
func (o *ovn) startCentral(ctx context.Context) error {
	for _, database := range []struct{ path, schema string }{
		{o.files.north(), o.programs.northSchema}, {o.files.south(), o.programs.southSchema},
	} {
		if _, err := o.Run(ctx, o.link, o.files.environment(), o.programs.tool, "create", database.path, database.schema); err != nil {
			return err
		}
	}
	housekeeping := []int{o.link.Switch.HousekeepingCPU}
	_, err := o.Start(ctx, o.link, Program{
		Name: ovnCentralProgram, CPUs: housekeeping, Env: o.files.environment(),
		Argv: append([]string{o.programs.server}, o.files.centralArguments()...),
		Ready: func(ctx context.Context) error {
			_, err := o.nbctl(ctx, "init")
			return err
		},
	})
	if err != nil {
		return err
	}
	_, err = o.Start(ctx, o.link, Program{
		Name: ovnNorthProgram, CPUs: housekeeping, Env: o.files.environment(),
		Argv: append([]string{o.programs.northd}, o.files.northArguments()...),
	})
	return err
}

// makeHost starts a host's Open vSwitch, and returns who holds the host's network namespace.
func (o *ovn) makeHost(ctx context.Context, host int) (Holder, error) {
	files := o.files.host(host)
	if err := os.Mkdir(files.dir, 0o700); err != nil {
		return Holder{}, err
	}
	h := &ovs{Site: o.Site, link: o.link, suffix: fmt.Sprintf("-%d", host), programs: o.programs.ovsPrograms, files: files}
	o.hosts[host] = h
	if err := h.startServer(ctx); err != nil {
		return Holder{}, err
	}
	holder := h.server.holder()
	o.own(o.link, holder)
	if err := o.Fresh.Begin(holder); err != nil {
		return holder, err
	}
	if _, err := h.vsctl(ctx, o.files.chassis(host)...); err != nil {
		return holder, err
	}
	config := ovsConfig{HousekeepingCPU: o.link.Switch.HousekeepingCPU}
	if err := h.startSwitch(ctx, config); err != nil {
		return holder, err
	}
	// Its main thread moves the packets: its ports are AF_PACKET's.
	return holder, tasks.Bind(h.vswitchd.PID, o.hostCPUs(host))
}

// hostCPUs are where a host's switch runs: hosts share CPUs only where there is one.
func (o *ovn) hostCPUs(host int) []int {
	cpus := o.link.Switch.CPUs
	if len(cpus) == 0 {
		return []int{o.link.Switch.HousekeepingCPU}
	}
	return []int{cpus[host%len(cpus)]}
}

// join makes a host's bridges with the endpoint's port, and starts its controller. It returns the
// endpoint's MAC address.
func (o *ovn) join(ctx context.Context, u *underlay, host int, e plan.Endpoint) (string, error) {
	h := o.hosts[host]
	i, err := o.interfaceOf(e)
	if err != nil {
		return "", err
	}
	if err := o.addPairsAt(u.hosts[host], o.link, []plan.Endpoint{e}); err != nil {
		return "", err
	}
	if _, err := h.vsctl(ctx, ovnBridges(u.macs[host], e.FabricDevice, host)...); err != nil {
		return "", err
	}
	if err := h.refused(ctx); err != nil {
		return "", err
	}
	err = inside(u.hosts[host], func(_ *netns.Namespace, handle *netlink.Handle) error {
		own, err := handle.LinkByName(ovnUnderlayBridge)
		if err != nil {
			return fmt.Errorf("find %s: %w", ovnUnderlayBridge, err)
		}
		return u.giveAddress(handle, own, host)
	})
	if err != nil {
		return "", err
	}
	// The datapath in userspace has neighbours of its own, which it learns from the first packets, and
	// drops those.
	for _, command := range [][]string{
		{"tnl/neigh/aging", fmt.Sprint(ovsAgeingSeconds)},
		{"tnl/neigh/set", ovnUnderlayBridge, u.address(1 - host), u.macs[1-host].String()},
	} {
		argv := append([]string{o.programs.appctl, "--target=" + h.files.control()}, command...)
		if _, err := o.Run(ctx, o.link, h.files.environment(), argv...); err != nil {
			return "", err
		}
	}
	_, err = o.Start(ctx, o.link, Program{
		Name: ovnControllerProgram + h.suffix, CPUs: []int{o.link.Switch.HousekeepingCPU}, Inside: h.server,
		Argv: append([]string{o.programs.controller}, o.files.controllerArguments(host)...),
		Env:  append(h.files.environment(), o.files.environment()...),
		Ready: func(ctx context.Context) error {
			known, err := o.sbctl(ctx, "--bare", "--columns=name", "find", "Chassis", "name="+hostName(host))
			if err == nil && known == "" {
				err = errors.New("it has not registered its host with OVN yet")
			}
			return err
		},
	})
	return i.MAC, err
}

// makeLogicalSwitch makes the logical switch with a port of each host, and returns when both hosts
// forward by it.
func (o *ovn) makeLogicalSwitch(ctx context.Context, macs [2]string) error {
	if _, err := o.nbctl(ctx, ovnLogicalSwitch(macs)...); err != nil {
		return err
	}
	for host := range macs {
		if _, err := o.nbctl(ctx, "wait-until", "Logical_Switch_Port", ovnPort(host), "up=true"); err != nil {
			return fmt.Errorf("wait for the port of %s: %w", hostName(host), err)
		}
	}
	_, err := o.nbctl(ctx, "--wait=hv", "sync")
	return err
}

// nbctl runs ovn-nbctl on the northbound database.
func (o *ovn) nbctl(ctx context.Context, arguments ...string) (string, error) {
	return o.control(ctx, o.programs.nbctl, arguments)
}

// sbctl runs ovn-sbctl on the southbound database.
func (o *ovn) sbctl(ctx context.Context, arguments ...string) (string, error) {
	return o.control(ctx, o.programs.sbctl, arguments)
}

func (o *ovn) control(ctx context.Context, program string, arguments []string) (string, error) {
	argv := append([]string{
		program, "--no-leader-only", "--db=unix:" + o.files.socket(), fmt.Sprintf("--timeout=%d", ovsSeconds), "-vsyslog:off",
	}, arguments...)
	return o.Run(ctx, o.link, o.files.environment(), argv...)
}

// recordSettings records the version and where the switches run.
func (o *ovn) recordSettings(ctx context.Context) {
	values := map[string]string{"datapath": "userspace", "tunnel": "Geneve"}
	if version, err := o.Run(ctx, o.link, nil, o.programs.controller, "--version"); err == nil {
		values["version"], _, _ = strings.Cut(version, "\n")
	}
	if version, err := o.Run(ctx, o.link, nil, o.programs.vswitchd, "--version"); err == nil {
		values["ovs"], _, _ = strings.Cut(version, "\n")
	}
	var cpus []int
	for i := range o.hosts {
		cpus = append(cpus, o.hostCPUs(i)...)
	}
	slices.Sort(cpus)
	values["cpus"] = cpulist.Format(slices.Compact(cpus))
	o.record("", o.link.Name, ovnControllerProgram, values)
}

// ovnFiles are the files of one instance of OVN, all in one folder, so that the system's own is not
// affected.
type ovnFiles struct{ dir string }

func (f ovnFiles) north() string  { return filepath.Join(f.dir, "north.db") }
func (f ovnFiles) south() string  { return filepath.Join(f.dir, "south.db") }
func (f ovnFiles) socket() string { return filepath.Join(f.dir, "ovn.sock") }

// host are the files of a host's Open vSwitch.
func (f ovnFiles) host(host int) ovsFiles { return ovsFiles{filepath.Join(f.dir, hostName(host))} }

// environment makes OVN's programs use this folder instead of the compiled-in ones.
func (f ovnFiles) environment() []string {
	return []string{"OVN_RUNDIR=" + f.dir, "OVN_DBDIR=" + f.dir, "OVN_LOGDIR=" + f.dir, "OVN_SYSCONFDIR=" + f.dir}
}

// centralArguments are those of the databases' server.
func (f ovnFiles) centralArguments() []string {
	return append([]string{
		f.north(), f.south(), "--remote=punix:" + f.socket(), "--unixctl=" + filepath.Join(f.dir, "central.ctl"),
	}, ovsLogging...)
}

// northArguments are ovn-northd's.
func (f ovnFiles) northArguments() []string {
	database := "unix:" + f.socket()
	return append([]string{
		"--ovnnb-db=" + database, "--ovnsb-db=" + database, "--unixctl=" + filepath.Join(f.dir, "northd.ctl"),
	}, ovsLogging...)
}

// controllerArguments are those of a host's ovn-controller. Its control socket, in OVN_RUNDIR, has a process id in
// its name. It watches itself: that of OVN 23.03 now and then ends by SIGSEGV in its first
// milliseconds, when it is connected to the switch before its host is registered.
func (f ovnFiles) controllerArguments(host int) []string {
	return append([]string{"unix:" + f.host(host).socket(), "--monitor"}, ovsLogging...)
}

// chassis is the transaction that makes a host one of OVN's, as arguments of ovs-vsctl (ovn-controller(8),
// "Configuration").
func (f ovnFiles) chassis(host int) []string {
	u := underlay{}
	return []string{
		"--no-wait", "set", "Open_vSwitch", ".",
		"external_ids:system-id=" + hostName(host), "external_ids:hostname=" + hostName(host),
		"external_ids:ovn-remote=" + quoteOVS("unix:"+f.socket()),
		"external_ids:ovn-encap-type=geneve", "external_ids:ovn-encap-ip=" + u.address(host),
		"external_ids:ovn-bridge-datapath-type=" + ovsUserDatapath,
	}
}

const (
	// ovnUnderlayBridge has a host's card and its address: the datapath in userspace sends what it has
	// put into a tunnel by a bridge with the tunnel's address.
	ovnUnderlayBridge = "underlay"
	// ovnBridge is the one that ovn-controller fills with rules.
	ovnBridge = "br-int"
	// geneveHead is what the tunnel adds to a frame: an outer IPv4 and UDP header, Geneve's with OVN's
	// option, and the frame's own Ethernet header (RFC 8926, 3; ovn-architecture(7), "Tunnel Encapsulations").
	geneveHead = 20 + 8 + 8 + 8 + 14
	// ovnSwitch is the logical switch; there is one in an instance.
	ovnSwitch = "lan"
)

// ovnPort is the logical port of a host's endpoint.
func ovnPort(host int) string { return fmt.Sprintf("port-%d", host) }

// ovnBridges is the transaction that makes a host's bridges:
//
//	ovs-vsctl add-br underlay -- add-port underlay eth0 -- add-br br-int -- add-port br-int DEVICE …
func ovnBridges(mac net.HardwareAddr, device string, host int) []string {
	return []string{
		"add-br", ovnUnderlayBridge, "--", "set", "Bridge", ovnUnderlayBridge, "datapath_type=" + ovsUserDatapath,
		"other_config:hwaddr=" + quoteOVS(mac.String()), fmt.Sprintf("other_config:mac-aging-time=%d", ovsAgeingSeconds),
		"--", "add-port", ovnUnderlayBridge, underlayDevice,
		"--", "--may-exist", "add-br", ovnBridge, "--", "set", "Bridge", ovnBridge, "datapath_type=" + ovsUserDatapath,
		"fail_mode=secure", "other_config:disable-in-band=true",
		"--", "add-port", ovnBridge, device, "--", "set", "Interface", device, "external_ids:iface-id=" + ovnPort(host),
	}
}

// ovnLogicalSwitch is the transaction of ovn-nbctl that makes the logical switch. A port also gets frames
// for addresses that nobody has said, as an app may pass on those of others.
func ovnLogicalSwitch(macs [2]string) []string {
	arguments := []string{"ls-add", ovnSwitch}
	for host, mac := range macs {
		arguments = append(arguments, "--", "lsp-add", ovnSwitch, ovnPort(host),
			"--", "lsp-set-addresses", ovnPort(host), mac, "unknown")
	}
	return arguments
}
