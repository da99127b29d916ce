package engine

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/kernel/hugepages"
	"nines.dev/nines/kernel/napi"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/plan"
)

// StartDPDK lets the engine of a node start DPDK, if the plan says that it opens DPDK devices.
// DPDK's own threads stay off the busy CPUs, which handle its packets, as far as the node has
// others.
func StartDPDK(ctx context.Context, l *running.Lab, c *client.Client, nodeName string, busy ...int) (notes []string, err error) {
	n := l.Index().Node(nodeName)
	if n == nil || n.DPDK == nil {
		return nil, nil
	}
	if h := l.Plan().Hugepages; n.DPDK.Huge && h != nil && !n.Apart() {
		if err := hugepages.AwaitMemory(ctx, n.DPDK.MemoryNode, n.DPDK.MemoryBytes, h.PageBytes); err != nil {
			return nil, fmt.Errorf("node %q: %w", nodeName, err)
		}
	}
	started, err := c.StartDPDK(client.DPDK{
		Prefix: n.DPDK.Prefix, MemoryBytes: n.DPDK.MemoryBytes, MemoryNode: n.DPDK.MemoryNode,
		Huge: n.DPDK.Huge, PCI: n.DPDK.PCI, CPU: n.GuestCPU(quietCPU(n.CPUs, busy)),
	})
	if err != nil {
		return nil, fmt.Errorf("node %q: %w", nodeName, err)
	}
	return append([]string{started.Version}, started.Notes...), nil
}

// quietCPU is the last CPU that is not busy, else the last; -1 for any, if there is none, or if the
// busy threads are not pinned.
func quietCPU(cpus, busy []int) int {
	if slices.Contains(busy, -1) {
		return -1
	}
	for _, cpu := range slices.Backward(cpus) {
		if !slices.Contains(busy, cpu) {
			return cpu
		}
	}
	if len(cpus) == 0 {
		return -1
	}
	return cpus[len(cpus)-1]
}

// UseDevice makes a port of an engine in a node a DPDK port, if DPDK opens the port's interface
// there, and gives it the addresses that only running pods have.
func UseDevice(l *running.Lab, port *client.Port, nodeName string) error {
	if err := useAddresses(l, port); err != nil {
		return err
	}
	device, err := device(l, nodeName, port.Interface)
	if device != "" {
		port.Device, port.Interface = device, ""
	}
	if err == nil {
		port.Map, err = claimedMap(l, nodeName, port.Interface)
	}
	return err
}

// TakesXDPFrames is true if an interface of a node now takes XDP frames from an engine, which a
// veth does once its other end has an XDP program or GRO.
func TakesXDPFrames(l *running.Lab, port plan.Port) (takes bool, err error) {
	running := l.Running(port.Node)
	if running == nil {
		return false, nil
	}
	ns, err := running.Namespace()
	if err != nil {
		return false, err
	}
	defer ns.Close()
	err = ns.Do(func() error {
		takes, err = napi.TakesRedirects(port.Interface)
		return err
	})
	return takes, err
}

// device is what an engine in a node has to open for a DPDK interface; empty for a kernel
// interface. If the engine will listen on the interface's socket, one that a dead engine left is
// removed.
func device(l *running.Lab, nodeName, interfaceName string) (string, error) {
	n := l.Index().Node(nodeName)
	if n == nil {
		return "", nil
	}
	at := slices.IndexFunc(n.Interfaces, func(i plan.Interface) bool { return i.Name == interfaceName })
	if at < 0 || n.Interfaces[at].Device == nil {
		return "", nil
	}
	i := n.Interfaces[at]
	if i.Device.Claimed {
		return claimedDevice(l, n.Name, i, at)
	}
	socket := ""
	if i.Device.Socket != "" {
		socket = i.Device.Socket
		if made, e := l.Index().EndOf(nodeName, interfaceName); made != nil {
			socket = link.SocketOf(*made, e)
		}
		if i.Device.Server {
			if err := link.RemoveStaleSocket(link.SocketPath(link.SocketsDir(l.State().Dir), socket)); err != nil {
				return "", fmt.Errorf("interface %s:%s: %w", nodeName, interfaceName, err)
			}
		}
		socket = link.SocketPath(node.RuntimeOf(*n).Seen(l.Files()).Sockets, socket)
	}
	return deviceArgument(i, at, socket), nil
}

// EAL's names of the drivers for which this file makes arguments.
const (
	driverVirtioUser = "net_virtio_user"
	driverMemif      = "net_memif"
	driverAFPacket   = "net_af_packet"
	driverAFXDP      = "net_af_xdp"
)

const (
	// ringSlots is the length of a virtio queue: at 10 million packets a second it
	// lets the other side pause for 100 µs.
	ringSlots = 1024
	// memifRingLog2 is the same for memif, which takes the binary logarithm.
	memifRingLog2 = 10
)

// deviceArgument is the --vdev argument for an interface, or its PCI address; index is the
// interface's number in its node and makes the device's name unique in the node's engine. It is
// pure.
func deviceArgument(i plan.Interface, index int, socket string) string {
	d := i.Device
	words := []string{fmt.Sprintf("%s%d", d.Driver, index)}
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	switch d.Driver {
	case "":
		return d.Arguments
	case driverVirtioUser:
		add("path=%s", socket)
		add("mac=%s", i.MAC)
		add("queue_size=%d", ringSlots)
		// The engine's buffers hold whole frames: merging small ones would be useless work.
		add("mrg_rxbuf=0")
		if d.Server {
			add("server=1")
		}
	case driverMemif:
		add("role=%s", map[bool]string{true: "server", false: "client"}[d.Server])
		add("socket=%s", socket)
		add("socket-abstract=no")
		add("mac=%s", i.MAC)
		add("rsize=%d", memifRingLog2)
	case driverAFPacket:
		words = []string{link.AFPacketDevice(index, i.Name, i.MTU)}
	case driverAFXDP:
		add("iface=%s", i.Name)
	}
	if d.Arguments != "" {
		words = append(words, d.Arguments)
	}
	return strings.Join(words, ",")
}
