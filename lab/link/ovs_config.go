package link

import (
	"fmt"
	"nines.dev/nines/lab/node"
	"path/filepath"
	"strings"

	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// ovsBridge is the bridge of each instance; each is in its own network namespace.
const ovsBridge = "br0"

// Limits of Open vSwitch's address learning, from "Bridge table" in ovs-vswitchd.conf.db(5).
const (
	// ovsAgeingSeconds keeps learnt addresses for longer than any trial: its maximum
	// (normalize_idle_time in lib/mac-learning.c).
	ovsAgeingSeconds = 3600
	// ovsTableSize is how many addresses it learns; the default is a few thousand.
	ovsTableSize = 1 << 20
)

// The datapaths of Open vSwitch.
const (
	ovsKernelDatapath = "system"
	ovsUserDatapath   = "netdev"
)

// The types of ports: values of the column type in the table Interface.
const (
	ovsAFXDP     = "afxdp"
	ovsAFPacket  = "system" // with the kernel's datapath: the kernel's own port
	ovsVhostUser = "dpdkvhostuserclient"
)

// ovsFiles are the files of one instance of Open vSwitch, all in one folder, so that the system's
// own instance is not affected.
type ovsFiles struct{ dir string }

func (f ovsFiles) database() string        { return filepath.Join(f.dir, "conf.db") }
func (f ovsFiles) socket() string          { return filepath.Join(f.dir, "db.sock") }
func (f ovsFiles) databaseControl() string { return filepath.Join(f.dir, "ovsdb.ctl") }
func (f ovsFiles) control() string         { return filepath.Join(f.dir, "vswitchd.ctl") }
func (f ovsFiles) management() string      { return filepath.Join(f.dir, ovsBridge+".mgmt") }

// environment makes each program use this folder instead of the compiled-in ones.
func (f ovsFiles) environment() []string {
	return []string{
		"OVS_RUNDIR=" + f.dir, "OVS_DBDIR=" + f.dir, "OVS_LOGDIR=" + f.dir, "OVS_SYSCONFDIR=" + f.dir,
		runtimeDirectory(f.dir),
	}
}

// ovsLogging logs to standard error only, without the warnings about its own delays on a busy
// machine.
var ovsLogging = []string{
	"-vconsole:info", "-vsyslog:off", "-vfile:off", "-vcoverage:off", "-vpoll_loop:off", "-vtimeval:off",
	"--syslog-method=null", "--no-chdir",
}

// serverArguments are ovsdb-server's.
func (f ovsFiles) serverArguments() []string {
	return append([]string{
		f.database(), "--remote=punix:" + f.socket(), "--unixctl=" + f.databaseControl(),
	}, ovsLogging...)
}

// switchArguments are ovs-vswitchd's.
func (f ovsFiles) switchArguments() []string {
	return append([]string{"unix:" + f.socket(), "--unixctl=" + f.control()}, ovsLogging...)
}

// ovsConfig is an instance's configuration in its database.
type ovsConfig struct {
	// Datapath is ovsKernelDatapath or ovsUserDatapath.
	Datapath string
	// PollCPUs are the CPUs of the poll-mode threads; if empty, the main thread moves the packets.
	PollCPUs []int
	// HousekeepingCPU runs DPDK's own threads.
	HousekeepingCPU int
	// DPDK is nil for an instance without.
	DPDK       *plan.DPDK
	MTU        int
	Forwarding spec.Forwarding
	Ports      []ovsPort
}

// ovsPort is one port of the bridge; the first has the number 1.
type ovsPort struct {
	Name, Type string
	// Socket is that of a vhost-user port.
	Socket string
}

// start is the transaction before ovs-vswitchd starts, with what it reads only once, as arguments
// of ovs-vsctl.
func (c ovsConfig) start() []string {
	arguments := []string{"--no-wait", "init"}
	var settings []string
	if len(c.PollCPUs) > 0 {
		settings = append(settings, "other_config:pmd-cpu-mask="+node.CPUMask(c.PollCPUs))
	}
	if c.DPDK != nil {
		settings = append(settings, "other_config:dpdk-init=true",
			"other_config:dpdk-extra="+quoteOVS(strings.Join(ovsEAL(*c.DPDK, c.HousekeepingCPU), " ")))
		if c.ownBuffers() {
			settings = append(settings, "other_config:per-port-memory=true")
		}
	}
	if len(settings) == 0 {
		return arguments
	}
	return append(append(arguments, "--", "set", "Open_vSwitch", "."), settings...)
}

// bridge is the transaction that makes the bridge with its ports:
//
//	ovs-vsctl add-br br0 -- set Bridge br0 datapath_type=… -- add-port br0 PORT …
//
// ovs-vsctl returns when ovs-vswitchd has applied it.
func (c ovsConfig) bridge() []string {
	arguments := []string{
		"add-br", ovsBridge, "--", "set", "Bridge", ovsBridge, "datapath_type=" + c.Datapath,
		fmt.Sprintf("other_config:mac-aging-time=%d", ovsAgeingSeconds),
		fmt.Sprintf("other_config:mac-table-size=%d", ovsTableSize),
	}
	if c.Forwarding == spec.ForwardingFlows {
		// Without this a bridge without a controller gets the rule NORMAL.
		arguments = append(arguments, "fail_mode=secure")
	}
	for i, p := range c.Ports {
		arguments = append(arguments, "--", "add-port", ovsBridge, p.Name)
		arguments = append(arguments, "--", "set", "Interface", p.Name, "type="+p.Type, fmt.Sprintf("ofport_request=%d", i+1))
		switch p.Type {
		case ovsVhostUser:
			arguments = append(arguments, "options:vhost-server-path="+quoteOVS(p.Socket), fmt.Sprintf("mtu_request=%d", c.MTU))
		case ovsAFXDP:
			arguments = append(arguments, "options:n_rxq=1")
		}
	}
	return arguments
}

// flows are the rules of ForwardingFlows for ovs-ofctl, one per direction; none for
// ForwardingNormal, whose single rule exists already.
func (c ovsConfig) flows() ([]string, error) {
	if c.Forwarding != spec.ForwardingFlows {
		return nil, nil
	}
	if len(c.Ports) != 2 {
		return nil, fmt.Errorf("the forwarding flows joins two endpoints, not %d; use normal", len(c.Ports))
	}
	return []string{"in_port=1,actions=output:2", "in_port=2,actions=output:1"}, nil
}

// ovsEAL are the arguments for DPDK inside ovs-vswitchd, which starts its poll-mode threads itself.
// Without a limit it would take hugepages until 262144 buffers for each MTU fit (dpdk_mp_create in
// lib/netdev-dpdk.c), and spend seconds on it; with a limit it takes as many as fit.
func ovsEAL(d plan.DPDK, housekeeping int) []string {
	arguments := ealArguments(d)
	if !d.Huge {
		// --no-huge implies --legacy-mem, but giving it keeps ovs-vswitchd from adding --in-memory.
		arguments = append(arguments, "--legacy-mem")
	}
	for _, a := range arguments {
		if memory, ok := strings.CutPrefix(a, "--socket-mem="); ok {
			arguments = append(arguments, "--socket-limit="+memory)
		}
	}
	// As two words: otherwise ovs-vswitchd does not see it and adds its own list.
	return append(arguments, "-l", fmt.Sprint(housekeeping))
}

// ovsMinBuffers is the least number of buffers that ovs-vswitchd runs with (MIN_NB_MBUF in
// lib/netdev-dpdk.c).
const ovsMinBuffers = 16384

// ovsLeastMemory is what those buffers take, in bytes: each has room for the frame
// and DPDK's headroom in whole KiB (dpdk_buf_size in lib/netdev-dpdk.c), a headroom
// and some hundred bytes of descriptors (struct dp_packet); rings and tables take a
// dozen MiB besides. Measured: 64 MiB suffice for an MTU of 1500, 48 do not.
func ovsLeastMemory(mtu int) int64 {
	return ovsMinBuffers*ovsBufferBytes(mtu) + ovsOtherBytes
}

const ovsOtherBytes = 12 << 20

func ovsBufferBytes(mtu int) int64 {
	const ethernet, headroom, descriptors = 18, 128, 768
	data := (int64(mtu)+ethernet+headroom+1023)/1024*1024 + headroom
	return data + descriptors
}

// ownBuffers is true where the memory is enough for each guest to have buffers of its own, which Open vSwitch
// counts by the port's queues (dpdk_calculate_mbufs in lib/netdev-dpdk.c). Those that ports share are 262,144:
// it asks for half as many, again and again, while DPDK says that the memory is not enough. But where the last
// piece of memory has no room for a single buffer, DPDK says ENOBUFS, and the guest stays without.
func (c ovsConfig) ownBuffers() bool {
	const queueBuffers, burst = 2048, 32
	guests := int64(0)
	for _, p := range c.Ports {
		if p.Socket != "" {
			guests++
		}
	}
	queues := int64(1 + len(c.PollCPUs) + 2) // received by; sent by the poll-mode threads, the main one, one more
	each := (ovsMinBuffers + queues*queueBuffers + burst) * ovsBufferBytes(c.MTU)
	return guests > 0 && guests*each+ovsOtherBytes <= c.DPDK.MemoryBytes
}

// quoteOVS writes a string as ovs-vsctl's values take it, in which spaces, commas and
// equals signs separate others (ovs-vsctl(8), "Database Values").
func quoteOVS(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value) + `"`
}
