package plan

import (
	"fmt"
	"regexp"
	"strings"

	"nines.dev/nines/spec"
)

// between is the program between a link's ends; nil: none.
func (l *link) between() *spec.LinkProgram {
	return l.kind.Descriptor().ProgramOf(l.spec.Impaired())
}

// programOf is a link's program as a node that wants CPUs; nil where there is none.
func programOf(l *link) *node {
	if l.between() == nil {
		return nil
	}
	settings := l.switchSettings()
	return &node{
		name: "the switch of " + l.name, link: l, endpoints: l.endpoints, engineCPU: -1, why: []string{},
		spec: &spec.Node{CPUs: settings.CPUs, CPUList: settings.CPUList},
	}
}

// users are all that want CPUs and memory: the nodes by name, then their polling threads, then the
// links' programs in the file's order.
func (w *work) users() []*node {
	list := append([]*node(nil), w.nodes...)
	for _, n := range w.nodes {
		if n.pollers != nil {
			list = append(list, n.pollers)
		}
	}
	for _, l := range w.links {
		if l.program != nil {
			list = append(list, l.program)
		}
	}
	return list
}

// attach decides how each endpoint attaches to its link: as a kernel device, or through memory that
// DPDK shares with the link's program or the other end.
func (w *work) attach() error {
	backends, err := w.backends()
	if err != nil {
		return err
	}
	for _, l := range w.links {
		if err := l.attachClaims(backends); err != nil {
			return err
		}
		for i, e := range l.endpoints {
			dpdk := backends[e] == spec.BackendDPDK
			if dpdk && e.remote() && e.device == nil {
				return at(&Conflict{"link " + l.name, fmt.Sprintf("%s is used with the backend dpdk, which opens only sockets that a pod claims", e),
					"write backend: udp for its app or the traffic, or use a link of kind: pod-port whose class gives sockets"}, l.steps())
			}
			if backends[e] == spec.BackendXDP && e.remote() && !e.socketMap {
				return at(&Conflict{"link " + l.name, fmt.Sprintf("%s is used with the backend xdp, which opens only interfaces that a pod claims", e),
					"write backend: udp for its app or the traffic, or use a link of kind: pod-port whose class gives maps for AF_XDP sockets"}, l.steps())
			}
			if l.kind.Descriptor().End == spec.EndNone && !dpdk {
				return at(&Conflict{"link " + l.name, fmt.Sprintf("%s is not used by DPDK, and %s joins nothing else", e, l.kind),
					"use the backend dpdk at both ends, or kind: veth"}, l.steps())
			}
			w.attachOne(e, i, dpdk)
		}
	}
	return nil
}

// backends returns how engines reach the endpoints that they use. It also sets the ports of the
// apps.
func (w *work) backends() (map[*endpoint]spec.Backend, error) {
	used := map[*endpoint]spec.Backend{}
	for _, c := range w.courses {
		used[c.from()], used[c.to()] = c.stream.Backend, c.stream.Backend
	}
	for _, n := range w.nodes {
		backend := w.appBackend(n)
		if backend == "" {
			continue
		}
		var err error
		if n.ports, err = w.appEndpoints(n); err != nil {
			return nil, err
		}
		for _, e := range n.ports {
			used[e] = backend
		}
	}
	return used, nil
}

// attachOne decides for the i-th endpoint of a link.
func (w *work) attachOne(e *endpoint, i int, dpdk bool) {
	l, d := e.link, e.link.kind.Descriptor()
	switch {
	case e.node.guest():
		w.attachGuest(e, i, dpdk)
		return
	case e.remote():
		return // see attachClaims
	}
	switch {
	case d.DPDK == spec.DPDKMemif: // both ends meet at the first one's socket
		e.attach, e.socket = AttachMemif, socketName(l, 0)
		e.device = &Device{Driver: driverMemif, Socket: e.socket, Server: i == 0}
	case d.DPDK == spec.DPDKVhost && dpdk:
		e.attach, e.socket, e.programListens = AttachVhost, socketName(l, i), d.Program.Listens
		e.device = &Device{Driver: driverVirtioUser, Socket: e.socket, Server: !e.programListens}
	default:
		if l.program != nil {
			e.attach = AttachVeth
		}
		if dpdk {
			e.device = &Device{Driver: w.kernelDriver(), Kernel: true}
		}
	}
	if arguments := w.userDevice(e); arguments != "" && dpdk {
		if address := pciAddress(arguments); address != "" {
			arguments = address + pciFunction.ReplaceAllString(arguments, "")
		}
		e.device = &Device{Arguments: arguments, Kernel: e.device.Kernel}
		e.node.because("DPDK opens %q as %s, as the file asks", arguments, e.name)
	}
}

// The drivers of DPDK that plans name (drivers/net of its sources).
const (
	driverVirtioUser = "net_virtio_user"
	driverMemif      = "net_memif"
	driverAFPacket   = "net_af_packet"
	driverAFXDP      = "net_af_xdp"
)

// kernelDriver is the driver with which DPDK opens kernel devices.
func (w *work) kernelDriver() string {
	if w.exp.DPDK != nil && w.exp.DPDK.Driver == spec.DriverAFXDP {
		return driverAFXDP
	}
	return driverAFPacket
}

// userDevice is the device that the file names for DPDK to open at an endpoint.
func (w *work) userDevice(e *endpoint) string {
	if w.exp.DPDK == nil {
		return ""
	}
	return w.exp.DPDK.Device[e.String()]
}

// socketName is an endpoint's socket in the lab's folder of sockets.
func socketName(l *link, i int) string { return fmt.Sprintf("%s.%d", l.name, i) }

// pciFunction matches the address of a PCI function, with or without its domain.
var pciFunction = regexp.MustCompile(`^([0-9a-fA-F]{4}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]`)

// pciAddress returns the PCI address, with its domain, at the start of a device argument of DPDK;
// empty for a virtual device.
func pciAddress(arguments string) string {
	address := strings.ToLower(pciFunction.FindString(arguments))
	if address != "" && len(address) < len("0000:00:00.0") {
		address = "0000:" + address
	}
	return address
}
