package analyze

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"nines.dev/nines/analyze/packetfile"
)

// packet is an IP packet as a test describes it.
type packet struct {
	from, to string // address and port
	tcp      bool
	// ttl and tos are 64 and 0 if they are 0; ipID is that of the IP header.
	ttl, tos byte
	ipID     uint16
	seq, ack uint32 // of TCP
	checksum uint16 // of UDP or TCP, as it is
	payload  []byte
}

// ip are the bytes of the packet.
func (p packet) ip() []byte {
	from, to := netip.MustParseAddrPort(p.from), netip.MustParseAddrPort(p.to)
	be := binary.BigEndian
	upper := be.AppendUint16(be.AppendUint16(nil, from.Port()), to.Port())
	proto := byte(protoUDP)
	if p.tcp {
		proto = protoTCP
		upper = be.AppendUint32(be.AppendUint32(upper, p.seq), p.ack)
		upper = append(upper, 5<<4, 0x10, 1, 0)
		upper = append(be.AppendUint16(upper, p.checksum), 0, 0)
	} else {
		upper = be.AppendUint16(upper, uint16(8+len(p.payload)))
		upper = be.AppendUint16(upper, p.checksum)
	}
	upper = append(upper, p.payload...)
	ttl := p.ttl
	if ttl == 0 {
		ttl = 64
	}
	if from.Addr().Is6() {
		head := be.AppendUint32(nil, 6<<28|uint32(p.tos)<<20)
		head = append(be.AppendUint16(head, uint16(len(upper))), proto, ttl)
		head = append(append(head, from.Addr().AsSlice()...), to.Addr().AsSlice()...)
		return append(head, upper...)
	}
	head := be.AppendUint16([]byte{0x45, p.tos}, uint16(20+len(upper)))
	head = append(be.AppendUint16(head, p.ipID), 0x40, 0, ttl, proto, 0, 0)
	head = append(append(head, from.Addr().AsSlice()...), to.Addr().AsSlice()...)
	sum := uint32(0)
	for i := 0; i < len(head); i += 2 {
		sum += uint32(be.Uint16(head[i:]))
	}
	sum = sum>>16 + sum&0xffff
	be.PutUint16(head[10:], ^uint16(sum>>16+sum))
	return append(head, upper...)
}

// frame is the packet behind MAC addresses.
func (p packet) frame() []byte {
	kind := []byte{8, 0}
	if netip.MustParseAddrPort(p.from).Addr().Is6() {
		kind = []byte{0x86, 0xdd}
	}
	return append(append([]byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1}, kind...), p.ip()...)
}

// taken is a frame with the time of its capture.
type taken struct {
	ns   int64
	data []byte
	full int // its length on the wire; 0: that of data
}

// epoch is when the tests' captures begin.
const epoch = int64(1_700_000_000e9)

// writeCapture writes a capture with times counted from epoch, and returns its path.
func writeCapture(t *testing.T, name string, layout packetfile.Layout, frames []taken) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w, err := packetfile.NewWriter(out, layout)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range frames {
		if err := w.Write(packetfile.Packet{TimeNs: epoch + f.ns, Data: f.data, Length: uint32(max(f.full, len(f.data)))}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Flush(), out.Close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// points are two captures of one run in the making.
type points struct{ pre, post []taken }

// ahead is a frame that passes PRE first, back one that passes POST first; later is when it is at
// the other.
func (p *points) ahead(ns, later int64, data []byte) {
	p.pre, p.post = append(p.pre, taken{ns: ns, data: data}), append(p.post, taken{ns: ns + later, data: data})
}

func (p *points) back(ns, later int64, data []byte) {
	p.post, p.pre = append(p.post, taken{ns: ns, data: data}), append(p.pre, taken{ns: ns + later, data: data})
}

func (p *points) write(t *testing.T, layout packetfile.Layout) Options {
	t.Helper()
	return Options{Pre: writeCapture(t, "pre.pcap", layout, p.pre), Post: writeCapture(t, "post.pcap", layout, p.post)}
}
