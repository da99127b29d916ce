package capture

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/packetfilter"
	"nines.dev/nines/lab/running"
	"nines.dev/nines/terminal"
)

// Capture is a packet socket on an interface of a node. It sees what the kernel's stack receives
// and sends there, but not what an XDP program takes first. It is not safe for concurrent use.
type Capture struct {
	fd      int
	node    string
	filter  *packetfilter.Filter
	alive   func() bool
	buffer  []byte
	control []byte
	dropped uint64
}

// Frame is one captured frame, with the kernel's time stamp. Data is valid until the
// next call.
type Frame struct {
	Time time.Time
	Data []byte
	// Length is the frame's length on the wire, with its VLAN tags; Data may be shorter.
	Length   int
	Outgoing bool
	restored bool // its outer VLAN tag
}

const (
	// bufferBytes is the socket's buffer: 32 MiB hold some 100,000 small frames.
	bufferBytes = 32 << 20
	// mostWaiting is more frames than fit into the buffer, which the kernel makes twice as large
	// (socket(7), SO_RCVBUF): a small frame takes 768 bytes of it.
	mostWaiting = 2 * bufferBytes / 512
	// SnapLength is how many bytes of a frame a capture keeps: a whole jumbo frame.
	SnapLength = 9216 + 256
)

// Point is where to capture what.
type Point struct {
	Node, Interface string
	// Filter chooses the frames; nil for all.
	Filter *packetfilter.Filter
}

// Open opens a packet socket in a node's network namespace.
func Open(l *running.Lab, at Point) (*Capture, error) {
	nodeName, interfaceName := at.Node, at.Interface
	_, r, err := l.Node(nodeName)
	if err != nil {
		return nil, err
	}
	// The network of a node that is stopped is there, and a capture goes on while it is restarted.
	holder, _ := r.Holder()
	if !holder.Alive() {
		return nil, fmt.Errorf("node %q is dead; nines apply with the lab's file rebuilds it", nodeName)
	}
	if err := bypassed(l, nodeName, interfaceName); err != nil {
		return nil, err
	}
	if l.Index().Node(nodeName).Remote() {
		return nil, exit.Wrongf("%s:%s is a pod's, whose packets this host does not see; capture on the cluster's node", nodeName, interfaceName)
	}
	if l.Index().Node(nodeName).Guest() {
		return nil, exit.Wrongf("%s:%s is in a virtual machine; capture at the other end of its link, which has the same packets", nodeName, interfaceName)
	}
	ns, err := r.Namespace()
	if err != nil {
		return nil, err
	}
	defer ns.Close()
	c := &Capture{fd: -1, node: nodeName, filter: at.Filter, alive: holder.Alive, buffer: make([]byte, SnapLength), control: make([]byte, 256)}
	if err := ns.Do(func() error { return c.open(l.Name(), nodeName, interfaceName) }); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// bypassed returns an error for an interface that only DPDK has.
func bypassed(l *running.Lab, nodeName, interfaceName string) error {
	planned, e := l.Index().EndOf(nodeName, interfaceName)
	if planned == nil {
		return nil
	}
	if i := l.Index().Interface(e); i == nil || i.InKernel() {
		return nil
	}
	remedy := "capture at the other end of a kernel link, or use kind: switch, which can mirror a port"
	if planned.HasEngine() {
		remedy = fmt.Sprintf("nines switch mirror %s %s:%s -w FILE has the switch write them", planned.Name, nodeName, interfaceName)
	}
	return exit.Wrongf("DPDK opens %s:%s, so the kernel does not see its packets; %s", nodeName, interfaceName, remedy)
}

// meant says which of a node's interfaces can be meant. Those of a duet are there once for each side.
func meant(nodeName, interfaceName string, names []string) string {
	var sides []string
	for _, name := range names {
		if strings.HasPrefix(name, interfaceName+"@") {
			sides = append(sides, nodeName+":"+name)
		}
	}
	if len(sides) > 0 {
		return "in a duet each side has its own: " + strings.Join(sides, ", ")
	}
	return terminal.Choose(interfaceName, "its interfaces:", names)
}

func (c *Capture) open(lab, nodeName, interfaceName string) error {
	devices, err := net.Interfaces()
	if err != nil {
		return fmt.Errorf("list the interfaces of node %q: %w", nodeName, err)
	}
	at := slices.IndexFunc(devices, func(d net.Interface) bool { return d.Name == interfaceName })
	if at < 0 {
		var names []string
		for _, d := range devices {
			names = append(names, d.Name)
		}
		return exit.Wrongf("node %q of lab %q has no interface %q; %s", nodeName, lab, interfaceName, meant(nodeName, interfaceName, names))
	}
	device := devices[at]
	// Protocol 0 until it is bound, so that it gets no packets of other interfaces.
	if c.fd, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
		return os.NewSyscallError("socket", err)
	}
	patience := unix.NsecToTimeval(int64(100 * time.Millisecond)) // to check the context
	err = errors.Join(
		unix.SetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_RCVBUFFORCE, bufferBytes),
		unix.SetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1),
		unix.SetsockoptInt(c.fd, unix.SOL_PACKET, unix.PACKET_AUXDATA, 1),
		unix.SetsockoptTimeval(c.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &patience),
		unix.SetsockoptPacketMreq(c.fd, unix.SOL_PACKET, unix.PACKET_ADD_MEMBERSHIP,
			&unix.PacketMreq{Ifindex: int32(device.Index), Type: unix.PACKET_MR_PROMISC}),
	)
	if err != nil {
		return fmt.Errorf("set up the packet socket: %w", err)
	}
	if c.filter != nil {
		if err := c.filter.Attach(c.fd); err != nil {
			return err
		}
	}
	all := binary.BigEndian.Uint16(binary.NativeEndian.AppendUint16(nil, unix.ETH_P_ALL))
	if err := unix.Bind(c.fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: device.Index}); err != nil {
		return fmt.Errorf("bind the packet socket to %s:%s: %w", nodeName, interfaceName, err)
	}
	return nil
}

// ErrEnded means that there is nothing left to capture: the interface went down, or the node
// ended.
var ErrEnded = errors.New("the capture ended")

// Next waits for a frame. It returns the context's error when ctx ends, and ErrEnded when no
// more frames can come.
func (c *Capture) Next(ctx context.Context) (Frame, error) {
	for {
		if err := ctx.Err(); err != nil {
			return Frame{}, err
		}
		f, there, err := c.receive(0)
		switch {
		case err != nil:
			return Frame{}, err
		case there && c.wanted(f):
			return f, nil
		case there: // and not wanted
		case !c.alive():
			return Frame{}, fmt.Errorf("%w: node %q ended", ErrEnded, c.node)
		}
	}
}

// Waiting returns the next frame that is already captured; false if there is none.
func (c *Capture) Waiting() (Frame, bool, error) {
	for range mostWaiting {
		f, there, err := c.receive(unix.MSG_DONTWAIT)
		if !there || c.wanted(f) {
			return f, there, err
		}
	}
	return Frame{}, false, nil
}

// wanted reports whether the filter chooses a frame. The kernel has asked it of those without a tag.
func (c *Capture) wanted(f Frame) bool {
	return c.filter == nil || !f.restored || c.filter.Matches(f.Data, f.Length)
}

func (c *Capture) receive(flags int) (f Frame, there bool, err error) {
	n, controls, _, from, err := unix.Recvmsg(c.fd, c.buffer[tagBytes:], c.control, unix.MSG_TRUNC|flags)
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return Frame{}, false, nil
	case errors.Is(err, unix.ENETDOWN):
		return Frame{}, false, fmt.Errorf("%w: the interface went down", ErrEnded)
	case err != nil:
		return Frame{}, false, os.NewSyscallError("recvmsg", err)
	}
	kept := c.buffer[:min(tagBytes+n, SnapLength)]
	f = Frame{Length: n, Data: kept[tagBytes:]}
	if link, ok := from.(*unix.SockaddrLinklayer); ok {
		f.Outgoing = link.Pkttype == unix.PACKET_OUTGOING
	}
	stamp, tag, tagged := aside(c.control[:controls])
	if f.Time = stamp; tagged {
		f.Data, f.Length, f.restored = putTag(kept, tag), n+tagBytes, true
	}
	return f, true, nil
}

// aside reads what the kernel says beside a frame: its time, and its outer VLAN tag.
func aside(control []byte) (stamp time.Time, tag [tagBytes]byte, tagged bool) {
	messages, err := unix.ParseSocketControlMessage(control)
	if err != nil {
		return time.Now(), tag, false
	}
	for _, m := range messages {
		switch {
		case m.Header.Level == unix.SOL_SOCKET && m.Header.Type == unix.SO_TIMESTAMPNS && len(m.Data) >= 16:
			stamp = time.Unix(int64(binary.NativeEndian.Uint64(m.Data)), int64(binary.NativeEndian.Uint64(m.Data[8:])))
		case m.Header.Level == unix.SOL_PACKET && m.Header.Type == unix.PACKET_AUXDATA:
			tag, tagged = outerTag(m.Data)
		}
	}
	if stamp.IsZero() {
		stamp = time.Now()
	}
	return stamp, tag, tagged
}

// Dropped returns how many frames so far did not fit into the socket's buffer.
func (c *Capture) Dropped() (uint64, error) {
	// Reading it resets the kernel's counter, packet(7).
	stats, err := unix.GetsockoptTpacketStats(c.fd, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return c.dropped, fmt.Errorf("read the capture's counters: %w", err)
	}
	c.dropped += uint64(stats.Drops)
	return c.dropped, nil
}

// Close ends the capture.
func (c *Capture) Close() error {
	if c.fd < 0 {
		return nil
	}
	return unix.Close(c.fd)
}
