package analyze

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/result"
)

// numbered is a packet with a number in its payload.
func numbered(i int) packet {
	return packet{from: "10.0.0.1:4000", to: "10.0.1.1:5001", ipID: uint16(i), payload: binary.BigEndian.AppendUint32(make([]byte, 20), uint32(i))}
}

func numbered6(i int) packet {
	p := numbered(i)
	p.from, p.to = "[2001:db8::1]:4000", "[2001:db8::2]:5001"
	p.payload = binary.BigEndian.AppendUint32(nil, uint32(i))
	return p
}

// withOptions has a record of the route in its IP header.
func withOptions(frame []byte) []byte {
	f := slices.Insert(bytes.Clone(frame), 14+20, 7, 7, 4, 0, 0, 0, 0, 0)
	f[14] = 0x47
	binary.BigEndian.PutUint16(f[16:], binary.BigEndian.Uint16(f[16:])+8)
	return f
}

func tagged(frame []byte, tags ...byte) []byte {
	return slices.Insert(bytes.Clone(frame), 12, tags...)
}

// around are the headers of a tunnel of UDP.
func around(port string, header []byte, inner []byte) []byte {
	return packet{from: "192.0.2.1:50000", to: "192.0.2.2:" + port, payload: slices.Concat(header, inner)}.frame()
}

// ofProtocol is a packet of another IP protocol than UDP.
func ofProtocol(protocol byte, load []byte) []byte {
	p := packet{from: "192.0.2.1:1", to: "192.0.2.2:1"}
	frame := append(p.frame()[:14+20], load...)
	frame[14+9] = protocol
	binary.BigEndian.PutUint16(frame[16:], uint16(20+len(load)))
	return frame
}

// The same packet is found behind whatever changes it on the way, and what has changed is told.
func TestWhatMayChangeOnTheWay(t *testing.T) {
	changed := func(i int, change func(p *packet)) []byte {
		p := numbered(i)
		change(&p)
		return p.frame()
	}
	tcp := func(p *packet) { p.tcp, p.seq = true, binary.BigEndian.Uint32(p.payload[len(p.payload)-4:]) }
	plain := func(i int) []byte { return numbered(i).frame() }
	for name, c := range map[string]struct {
		pre, post func(i int) []byte
		says      string
	}{
		"nothing": {plain, plain, ""},
		"ECN": {plain, func(i int) []byte {
			return changed(i, func(p *packet) {
				if i%3 == 0 {
					p.tos = 3
				}
			})
		}, "ECN (in 33 %)"},
		"DSCP": {plain, func(i int) []byte { return changed(i, func(p *packet) { p.tos = 46 << 2 }) }, "DSCP"},
		"TTL":  {plain, func(i int) []byte { return changed(i, func(p *packet) { p.ttl = 63 }) }, "TTL"},
		"hop limit and traffic class": {func(i int) []byte { return numbered6(i).frame() }, func(i int) []byte {
			p := numbered6(i)
			p.ttl, p.tos = 63, 0xb8
			return p.frame()
		}, "DSCP, TTL"},
		"MAC":                       {plain, func(i int) []byte { f := plain(i); f[5], f[11] = 9, 9; return f }, "MAC addresses"},
		"VLAN":                      {plain, func(i int) []byte { return tagged(plain(i), 0x81, 0, 0, 5) }, "VLAN tags"},
		"other VLAN":                {func(i int) []byte { return tagged(plain(i), 0x88, 0xa8, 0, 7, 0x81, 0, 0, 5) }, func(i int) []byte { return tagged(plain(i), 0x81, 0, 0, 6) }, "VLAN tags"},
		"checksum of UDP":           {plain, func(i int) []byte { return changed(i, func(p *packet) { p.checksum = 0x1234 }) }, "checksum of UDP"},
		"checksum of UDP over IPv6": {func(i int) []byte { return numbered6(i).frame() }, func(i int) []byte { p := numbered6(i); p.checksum = 77; return p.frame() }, "checksum of UDP"},
		"checksum of UDP behind a VLAN tag": {func(i int) []byte { return tagged(plain(i), 0x81, 0, 0, 5) }, func(i int) []byte {
			return tagged(changed(i, func(p *packet) { p.checksum = 77 }), 0x81, 0, 0, 5)
		}, "checksum of UDP"},
		"checksum of UDP behind options": {func(i int) []byte { return withOptions(plain(i)) }, func(i int) []byte {
			return withOptions(changed(i, func(p *packet) { p.checksum = 77 }))
		}, "checksum of UDP"},
		"checksum of TCP":           {func(i int) []byte { return changed(i, tcp) }, func(i int) []byte { return changed(i, func(p *packet) { tcp(p); p.checksum = 77 }) }, "checksum of UDP, TCP"},
		"checksum of TCP over IPv6": {func(i int) []byte { p := numbered6(i); tcp(&p); return p.frame() }, func(i int) []byte { p := numbered6(i); tcp(&p); p.checksum = 77; return p.frame() }, "checksum of UDP, TCP"},
		"FCS":                       {plain, func(i int) []byte { return append(plain(i), 1, 2, byte(i), 4) }, "bytes behind the packet"},
		"padding": {func(i int) []byte {
			return changed(i, func(p *packet) { p.payload = binary.BigEndian.AppendUint32(nil, uint32(i)) })
		}, func(i int) []byte {
			return append(changed(i, func(p *packet) { p.payload = binary.BigEndian.AppendUint32(nil, uint32(i)) }), make([]byte, 14)...)
		}, "bytes behind the packet"},
		"a stamp behind a large packet": {func(i int) []byte {
			return changed(i, func(p *packet) { p.payload = append(p.payload, make([]byte, 400)...) })
		}, func(i int) []byte {
			return append(changed(i, func(p *packet) { p.payload = append(p.payload, make([]byte, 400)...) }), binary.BigEndian.AppendUint64(nil, uint64(i)*77)...)
		}, "bytes behind the packet"},

		"VXLAN": {plain, func(i int) []byte { return around("4789", []byte{8, 0, 0, 0, 0, 0, 7, 0}, plain(i)) }, "the headers of a tunnel"},
		"VXLAN on both sides": {func(i int) []byte { return around("4789", []byte{8, 0, 0, 0, 0, 0, 7, 0}, plain(i)) }, func(i int) []byte {
			return around("4789", []byte{8, 0, 0, 0, 0, 0, 9, 0}, plain(i))
		}, ""},
		"Geneve": {plain, func(i int) []byte { return around("6081", []byte{1, 0, 0x65, 0x58, 0, 0, 7, 0, 1, 2, 3, 4}, plain(i)) }, "the headers of a tunnel"},
		"GTP-U":  {plain, func(i int) []byte { return around("2152", []byte{0x30, 255, 0, 0, 0, 0, 0, 1}, plain(i)[14:]) }, "the headers of a tunnel"},
		"GTP-U with an extension": {plain, func(i int) []byte {
			return around("2152", []byte{0x34, 255, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0, 9, 0}, plain(i)[14:])
		}, "the headers of a tunnel"},
		"GRE":          {plain, func(i int) []byte { return ofProtocol(47, append([]byte{0x20, 0, 8, 0, 0, 0, 0, 9}, plain(i)[14:]...)) }, "the headers of a tunnel"},
		"GRE, bridged": {plain, func(i int) []byte { return ofProtocol(47, append([]byte{0, 0, 0x65, 0x58}, plain(i)...)) }, "the headers of a tunnel"},
		"ERSPAN": {plain, func(i int) []byte {
			return ofProtocol(47, slices.Concat([]byte{0x10, 0, 0x88, 0xbe, 0, 0, 0, byte(i)}, make([]byte, 8), plain(i)))
		}, "the headers of a tunnel"},
		"ERSPAN III": {plain, func(i int) []byte {
			return ofProtocol(47, slices.Concat([]byte{0x10, 0, 0x22, 0xeb, 0, 0, 0, byte(i)}, make([]byte, 11), []byte{1}, make([]byte, 8), plain(i)))
		}, "the headers of a tunnel"},
		"IPIP": {plain, func(i int) []byte { return ofProtocol(4, plain(i)[14:]) }, "the headers of a tunnel"},
		"6in4": {func(i int) []byte { return numbered6(i).frame() }, func(i int) []byte { return ofProtocol(41, numbered6(i).ip()) }, "the headers of a tunnel"},
		"MPLS": {plain, func(i int) []byte {
			return slices.Concat(plain(i)[:12], []byte{0x88, 0x47, 0, 1, 0, 64, 0, 2, 1, 64}, plain(i)[14:])
		}, "the headers of a tunnel"},
		"MPLS pseudowire": {plain, func(i int) []byte {
			return slices.Concat(plain(i)[:12], []byte{0x88, 0x47, 0, 1, 1, 64, 0, 0, 0, byte(i)}, plain(i))
		}, "the headers of a tunnel"},
		"PPPoE": {plain, func(i int) []byte {
			return slices.Concat(plain(i)[:12], []byte{0x88, 0x64, 0x11, 0, 0, 5, 0, 60, 0, 0x21}, plain(i)[14:])
		}, "the headers of a tunnel"},
		"VXLAN over VLAN and MPLS in it": {plain, func(i int) []byte {
			mpls := slices.Concat(plain(i)[:12], []byte{0x88, 0x47, 0, 1, 1, 64}, plain(i)[14:])
			return tagged(around("4789", []byte{8, 0, 0, 0, 0, 0, 7, 0}, mpls), 0x81, 0, 0, 3)
		}, "the headers of a tunnel"},
		"IPv6 AH": {func(i int) []byte { return numbered6(i).frame() }, func(i int) []byte {
			inner := numbered6(i).ip()
			outer := numbered6(0).ip()[:40]
			outer[6] = 51
			ah := []byte{41, 4, 0, 0, 0, 0, 0, 1, 0, 0, 0, byte(i), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
			binary.BigEndian.PutUint16(outer[4:], uint16(len(ah)+len(inner)))
			return slices.Concat(numbered6(0).frame()[:14], outer, ah, inner)
		}, "the headers of a tunnel"},
	} {
		t.Run(name, func(t *testing.T) {
			const packets = 300
			var p points
			for i := range packets {
				p.pre = append(p.pre, taken{ns: int64(i) * 10_000, data: c.pre(i)})
				p.post = append(p.post, taken{ns: int64(i)*10_000 + 3000, data: c.post(i)})
			}
			s := analyze(t, p.write(t, plainPcap)).Summary()
			if s.Counts.Pairs != packets || s.Verdict != result.Clean || *s.Latency.Max != 3000 {
				t.Errorf("%s %v: %+v", s.Verdict, s.Reasons, s.Counts)
			}
			said := changesSay(s.Changes)
			if (c.says == "") != (said == "") || !strings.Contains(said, c.says) {
				t.Errorf("it says %q, want %q", said, c.says)
			}
		})
	}
}

// A frame check sequence that the link type's bits announce is no part of packets of any kind.
func TestFrameCheckSequence(t *testing.T) {
	var p points
	for i := range 300 {
		data := append([]byte{2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x88, 0xb5}, binary.BigEndian.AppendUint32(make([]byte, 40), uint32(i))...)
		p.pre = append(p.pre, taken{ns: int64(i) * 10_000, data: data})
		p.post = append(p.post, taken{ns: int64(i)*10_000 + 3000, data: append(bytes.Clone(data), 9, byte(i), 7, 1)})
	}
	o := p.write(t, plainPcap)
	file, err := os.OpenFile(o.Post, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	// 2 units of 16 bits, and that this is known: draft-ietf-opsawg-pcap, section 4.
	if _, err := file.WriteAt([]byte{1, 0, 0, 0x24}, 20); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if s := analyze(t, o).Summary(); s.Counts.Pairs != 300 || s.Verdict != result.Clean {
		t.Errorf("%s %v: %+v", s.Verdict, s.Reasons, s.Counts)
	}
}

// A depth makes packets that differ late distinct.
func TestDepth(t *testing.T) {
	late := func(i int) []byte {
		p := numbered(0)
		p.payload = binary.BigEndian.AppendUint32(make([]byte, 200), uint32(i))
		return p.frame()
	}
	var p points
	for i := range 300 {
		p.ahead(int64(i)*10_000, 3000, late(i))
	}
	o := p.write(t, plainPcap)
	if _, err := Analyze(t.Context(), o); err == nil || !strings.Contains(err.Error(), "--depth all") {
		t.Errorf("the usual depth: %v", err)
	}
	for _, o.Depth = range []int{300, WholePacket} {
		if s := analyze(t, o).Summary(); s.Counts.Pairs != 300 || s.Verdict != result.Clean {
			t.Errorf("depth %d: %s %v %+v", o.Depth, s.Verdict, s.Reasons, s.Counts)
		}
	}
}

// Captures with other snap lengths have their packets in common.
func TestSnapLengths(t *testing.T) {
	snap := func(bytes uint32) packetfile.Layout {
		return packetfile.Layout{Format: packetfile.Pcap, Interfaces: []packetfile.Interface{{LinkType: packetfile.Ethernet, Resolution: packetfile.Nanoseconds, SnapLength: bytes}}}
	}
	for _, depth := range []int{0, WholePacket} {
		for _, bytes := range []uint32{52, 60, 64, 96} {
			var p points
			for i := range 300 {
				data := packet{from: "10.0.0.1:4000", to: "10.0.1.1:5001", payload: append(binary.BigEndian.AppendUint32(make([]byte, 4), uint32(i)), make([]byte, 300)...)}.frame()
				p.ahead(int64(i)*10_000, 3000, data)
			}
			for i := range p.post {
				p.post[i].data = p.post[i].data[:bytes]
				p.post[i].full = 14 + 20 + 8 + 308
			}
			a := analyze(t, Options{Pre: writeCapture(t, "pre", snap(0), p.pre), Post: writeCapture(t, "post", snap(bytes), p.post), Depth: depth})
			if s := a.Summary(); s.Counts.Pairs != 300 || s.Verdict != result.Clean {
				t.Errorf("%d bytes: %s %v %+v", bytes, s.Verdict, s.Reasons, s.Counts)
			}
		}
	}
}

// A key that says nothing pairs no packet with another.
func TestKeysThatSayNothing(t *testing.T) {
	ack := func(i int) []byte { // padded with zeros, which are no id
		return append(packet{from: "10.0.0.1:4000", to: "10.0.1.1:5001", tcp: true, ack: uint32(i)}.frame(), make([]byte, 6)...)
	}
	short := func(i int) []byte { return numbered(0).frame()[:14+20] } // IP header without an id
	for name, c := range map[string]struct {
		o       Options
		pre     func(i int) []byte
		post    func(i int) []byte
		full    int
		unkeyed uint64
	}{
		"padding as an id":    {Options{Key: Flow}, ack, func(i int) []byte { return ack(i + 1000) }, 0, 1},
		"IP header only":      {Options{}, short, short, 200, 1},
		"an empty frame":      {Options{}, func(int) []byte { return make([]byte, 14) }, func(int) []byte { return make([]byte, 14) }, 0, 1},
		"the same in many":    {Options{Key: Flow}, func(int) []byte { return numbered(0).frame() }, func(i int) []byte { return numbered(i).frame() }, 0, 0},
		"the same in answers": {Options{}, func(int) []byte { return numbered(0).frame() }, func(int) []byte { return numbered(0).frame() }, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var p points
			p.pre = append(p.pre, taken{0, c.pre(0), c.full})
			for i := range 100 {
				p.post = append(p.post, taken{int64(i)*10_000 + 3000, c.post(i), c.full})
			}
			// Packets that are told apart.
			for i := range 100 {
				packet := packet{from: "10.0.0.3:4000", to: "10.0.1.1:5001", payload: binary.LittleEndian.AppendUint64(nil, uint64(i+1))}
				p.ahead(2_000_000+int64(i)*10_000, 3000, packet.frame())
			}
			o := p.write(t, plainPcap)
			o.Key = c.o.Key
			s := analyze(t, o).Summary()
			if s.Counts.Pairs != 100 || s.Counts.Lost != 0 || s.Counts.PreUnkeyed != c.unkeyed || s.Counts.PreAmbiguous != 1-c.unkeyed {
				t.Errorf("%+v", s.Counts)
			}
		})
	}
}

// FuzzTunnels: no packet breaks the search for the innermost one.
func FuzzTunnels(f *testing.F) {
	inner := numbered(1).frame()
	for _, frame := range [][]byte{
		inner, around("4789", []byte{8, 0, 0, 0, 0, 0, 7, 0}, inner), around("6081", []byte{1, 0, 0x65, 0x58, 0, 0, 7, 0, 1, 2, 3, 4}, inner),
		around("2152", []byte{0x34, 255, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0, 9, 0}, inner[14:]), ofProtocol(47, append([]byte{0, 0, 0x65, 0x58}, inner...)),
	} {
		f.Add(uint32(packetfile.Ethernet), frame)
	}
	f.Fuzz(func(t *testing.T, link uint32, data []byte) {
		d := dissect(packetfile.LinkType(link), data)
		if d.tunnels > maxTunnels || d.network > len(data) || d.end() > len(data) || d.transport > len(data) {
			t.Errorf("%+v of %d bytes", d, len(data))
		}
		if from, to := d.addresses(); from.IsValid() && (!to.IsValid() || from == (netip.Addr{})) {
			t.Errorf("%v > %v", from, to)
		}
		_ = fieldsOf(packetfile.LinkType(link), data)
	})
}
