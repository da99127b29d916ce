package synthetic

import (
	"encoding/binary"
	"fmt"

	"nines.dev/nines/analyze/packetfile"
)

// Kind is a kind of packet.
type Kind int

// The kinds of packets.
const (
	UDP4 Kind = iota
	UDP6
	TCP4
	VLAN       // UDP4 with an 802.1Q tag
	QinQ       // with two tags
	IPOptions  // UDP4 with 8 bytes of IP options
	Fragment   // UDP4; first and second fragment alternate
	Jumbo      // UDP4 of 9014 bytes
	NotIP      // the EtherType for experiments, 0x88b5
	kindsCount // number of kinds
)

// AllKinds are all kinds of packets.
func AllKinds() []Kind {
	kinds := make([]Kind, kindsCount)
	for i := range kinds {
		kinds[i] = Kind(i)
	}
	return kinds
}

const (
	etherIPv4  = 0x0800
	etherIPv6  = 0x86dd
	etherVLAN  = 0x8100
	etherQinQ  = 0x88a8
	etherTrial = 0x88b5

	protocolTCP = 6
	protocolUDP = 17

	payloadBytes = 18
)

// template is a frame without the fields that differ between packets.
type template struct {
	data    []byte
	network int // where the network header is
	// Offsets of fields; 0 if missing.
	ipID, ipSum, sequence, sum int
	payload                    int
	ipBase, sumBase            uint32 // sums of the constant parts
	noSumIfZero                bool   // UDP: a checksum of 0 means none
}

// frames makes the frames of one capture point.
type frames struct {
	config    Config
	second    bool // the second capture point
	templates [][]template
	cooked    []byte
}

func newFrames(c Config, second bool) *frames {
	f := &frames{config: c, second: second}
	for _, kind := range c.Kinds {
		for flow := range c.Flows {
			f.templates = append(f.templates, []template{build(c, kind, flow, false, second), build(c, kind, flow, true, second)})
		}
	}
	return f
}

// build makes a frame without its id; odd selects the second fragment of a pair.
func build(c Config, kind Kind, flow int, odd, second bool) template {
	var t template
	be := binary.BigEndian
	d := []byte{0x02, 0, 0, 0, 0, 2, 0x02, 0, 0, 0, 0, 1}
	if second && c.Routed {
		d = []byte{0x02, 0, 0, 0, 1, 2, 0x02, 0, 0, 0, 1, 1}
	}
	length := c.FrameBytes
	switch kind {
	case VLAN:
		d = be.AppendUint16(be.AppendUint16(d, etherVLAN), 100)
	case QinQ:
		d = be.AppendUint16(be.AppendUint16(d, etherQinQ), 200)
		d = be.AppendUint16(be.AppendUint16(d, etherVLAN), 100)
	case Jumbo:
		length = 9014
	}
	ttl := byte(64)
	if second && c.Routed {
		ttl--
	}
	protocol := byte(protocolUDP)
	t.network = len(d) + 2
	switch kind {
	case NotIP:
		d = be.AppendUint16(d, etherTrial)
	case UDP6:
		d = be.AppendUint16(d, etherIPv6)
		d = append(d, 0x60, 0, 0, 0, 0, 0, protocolUDP, ttl)
		// 2001:2::/48 is set aside for benchmarks (RFC 5180).
		d = append(d, 0x20, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1)
		d = append(d, 0x20, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2)
	default:
		if kind == TCP4 {
			protocol = protocolTCP
		}
		d = be.AppendUint16(d, etherIPv4)
		at := len(d)
		t.ipID, t.ipSum = at+4, at+10
		// 198.18.0.0/15 is set aside for benchmarks (RFC 2544).
		d = append(d, 0x45, 0, 0, 0, 0, 0, 0, 0, ttl, protocol, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2)
		switch {
		case kind == IPOptions:
			d[at] = 0x47
			d = append(d, 0x07, 7, 4, 0, 0, 0, 0, 0) // record route (RFC 791), no address yet
		case kind == Fragment && !odd:
			d[at+6] = 0x20 // more fragments
		case kind == Fragment:
			be.PutUint16(d[at+6:], 185) // 1480 bytes into the datagram
		}
	}
	upper := len(d)
	switch {
	case kind == NotIP, kind == Fragment && odd:
	case kind == TCP4:
		t.sequence, t.sum = upper+4, upper+16
		d = be.AppendUint16(be.AppendUint16(d, uint16(1024+flow)), 5001)
		d = append(d, 0, 0, 0, 0, 0, 0, 0, 1, 0x50, 0x10, 0xff, 0xff, 0, 0, 0, 0)
	default:
		d = be.AppendUint16(be.AppendUint16(d, uint16(1024+flow)), 5001)
		d = append(d, 0, 0, 0, 0)
		if kind != Fragment { // its checksum would cover both fragments
			t.sum, t.noSumIfZero = upper+6, true
		}
	}
	t.payload = len(d)
	d = append(d, make([]byte, max(payloadBytes, length-len(d)))...)
	for i := t.payload + payloadBytes; i < len(d); i++ {
		d[i] = byte(i)
	}
	t.data = d
	t.lengths(kind, upper)
	t.sums(kind, protocol, upper)
	return t
}

// lengths fills in the lengths of the network and upper headers.
func (t *template) lengths(kind Kind, upper int) {
	be := binary.BigEndian
	switch {
	case kind == UDP6:
		be.PutUint16(t.data[t.network+4:], uint16(len(t.data)-upper))
	case t.ipSum != 0:
		be.PutUint16(t.data[t.network+2:], uint16(len(t.data)-t.network))
	}
	if kind == Fragment && t.payload > upper {
		be.PutUint16(t.data[upper+4:], uint16(1480+len(t.data)-upper))
	} else if t.noSumIfZero {
		be.PutUint16(t.data[upper+4:], uint16(len(t.data)-upper))
	}
}

// sums adds up the constant parts (RFC 1071), for the checksums.
func (t *template) sums(kind Kind, protocol byte, upper int) {
	if t.ipSum != 0 {
		t.ipBase = sum(0, t.data[t.network:upper])
	}
	if t.sum == 0 {
		return
	}
	pseudo := uint32(protocol) + uint32(len(t.data)-upper)
	if kind == UDP6 {
		pseudo = sum(pseudo, t.data[t.network+8:t.network+40])
	} else {
		pseudo = sum(pseudo, t.data[t.network+12:t.network+20])
	}
	t.sumBase = sum(pseudo, t.data[upper:])
}

// sum adds 16-bit words.
func sum(s uint32, data []byte) uint32 {
	for len(data) >= 2 {
		s += uint32(binary.BigEndian.Uint16(data))
		data = data[2:]
	}
	if len(data) == 1 {
		s += uint32(data[0]) << 8
	}
	return fold(s)
}

func fold(s uint32) uint32 {
	s = s>>16 + s&0xffff
	return s>>16 + s&0xffff
}

// frame returns the packet with a number and an id, valid until the next call.
func (f *frames) frame(number uint64, id uint32, sentNs int64) *template {
	c := &f.config
	kind := number % uint64(len(c.Kinds))
	turn := number / uint64(len(c.Kinds))
	flow := turn % uint64(c.Flows)
	t := &f.templates[kind*uint64(c.Flows)+flow][turn/uint64(c.Flows)%2]
	d := t.data
	p := d[t.payload:][:payloadBytes]
	binary.LittleEndian.PutUint32(p, id)
	p[4] = 0x55
	if c.Payload == Nines {
		p[5] = 1
		binary.LittleEndian.PutUint64(p[10:], uint64(sentNs)&(1<<48-1)) // and stream 0
	}
	if t.ipSum != 0 {
		ipID := uint16(id)
		binary.BigEndian.PutUint16(d[t.ipID:], ipID)
		binary.BigEndian.PutUint16(d[t.ipSum:], ^uint16(fold(t.ipBase+uint32(ipID))))
	}
	if t.sequence != 0 {
		binary.BigEndian.PutUint32(d[t.sequence:], id)
	}
	if t.sum != 0 {
		s := sum(t.sumBase, p)
		if t.sequence != 0 {
			s += id>>16 + id&0xffff
		}
		checksum := ^uint16(fold(s))
		if checksum == 0 && t.noSumIfZero {
			checksum = 0xffff
		}
		if f.second && c.ChecksumsDiffer {
			checksum ^= 0x1234
		}
		binary.BigEndian.PutUint16(d[t.sum:], checksum)
	}
	return t
}

// on returns a frame as a capture of a link type holds it, valid until the next call.
func (f *frames) on(link packetfile.LinkType, t *template) ([]byte, error) {
	d := t.data
	switch link {
	case packetfile.Ethernet:
		return d, nil
	case packetfile.Raw:
		return d[t.network:], nil
	case packetfile.Null:
		family := uint32(2) // AF_INET
		if binary.BigEndian.Uint16(d[t.network-2:]) == etherIPv6 {
			family = 10 // Linux's AF_INET6
		}
		f.cooked = binary.LittleEndian.AppendUint32(f.cooked[:0], family)
		f.cooked = append(f.cooked, d[t.network:]...)
		return f.cooked, nil
	case packetfile.Cooked:
		f.cooked = append(f.cooked[:0], 0, 0, 0, 1, 0, 6)
		f.cooked = append(append(f.cooked, d[6:12]...), 0, 0)
		f.cooked = append(f.cooked, d[12:]...)
		return f.cooked, nil
	case packetfile.Cooked2:
		f.cooked = append(append(f.cooked[:0], d[12:14]...), 0, 0, 0, 0, 0, 2, 0, 1, 0, 6)
		f.cooked = append(append(f.cooked, d[6:12]...), 0, 0)
		f.cooked = append(f.cooked, d[14:]...)
		return f.cooked, nil
	}
	return nil, fmt.Errorf("cannot make packets of %s", link)
}
