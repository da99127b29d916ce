package analyze

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"

	"nines.dev/nines/analyze/packetfile"
)

// The key leaves out what may change on the way. What did change is known from a sample of the
// packets: those whose hashes end in some zeros, so that both captures have the same sample.

// sampledPackets is the most packets of a sample: enough for the percent that are shown.
const sampledPackets = 4096

// fields are the parts of a packet that the key leaves out.
type fields struct {
	macs     [etherAddresses]byte
	tags     uint64 // VLAN tags, the last four
	tunnels  int
	tos, ttl byte
	checksum uint32 // of UDP, TCP or SCTP
	beyond   int    // bytes behind the packet
	twice    bool
}

// sample has the fields of the packets whose hashes have zeros where mask has ones.
type sample struct {
	mask uint64
	of   map[uint64]fields // by the upper 64 bits of the hash, which are enough for so few
}

func (s *sample) take(key hash96, link packetfile.LinkType, data []byte) {
	if s.of == nil {
		s.of = make(map[uint64]fields, sampledPackets+1)
	}
	f := fieldsOf(link, data)
	_, f.twice = s.of[key.hi]
	s.of[key.hi] = f
	if len(s.of) > sampledPackets {
		s.mask = s.mask<<1 | 1
		maps.DeleteFunc(s.of, func(hash uint64, _ fields) bool { return hash&s.mask != 0 })
	}
}

func fieldsOf(link packetfile.LinkType, data []byte) fields {
	f := dissect(link, data)
	out := fields{tunnels: f.tunnels, beyond: len(data) - f.end()}
	if f.mac >= 0 {
		copy(out.macs[:], data[f.mac:])
		for tag := range min(f.tags, 4) {
			out.tags = out.tags<<16 | uint64(binary.BigEndian.Uint16(data[f.mac+etherAddresses+2+4*tag:]))
		}
		out.tags |= uint64(f.tags) << 60
	}
	if from, _ := f.addresses(); from.IsValid() {
		h := data[f.network:]
		out.tos, out.ttl = h[1], h[8]
		if f.etherType == etherIPv6 {
			out.tos, out.ttl = byte(binary.BigEndian.Uint16(h)>>4), h[7]
		}
	}
	if at, bytes := f.checksum(); bytes > 0 && len(data) >= at+bytes {
		for _, b := range data[at : at+bytes] {
			out.checksum = out.checksum<<8 | uint32(b)
		}
	}
	return out
}

// Change is how many packets of a sample differ between the captures in something that the key
// leaves out.
type Change struct {
	What    string `json:"what"`
	Packets uint64 `json:"packets"`
	Sample  uint64 `json:"sample_packets"`
}

// changes compares two samples. Link types that have no MAC addresses or tags do not tell of any.
func changes(pre, post *sample, macs bool) []Change {
	kinds := []struct {
		what   string
		differ func(a, b fields) bool
	}{
		{"MAC addresses", func(a, b fields) bool { return macs && a.macs != b.macs }},
		{"VLAN tags", func(a, b fields) bool { return macs && a.tags != b.tags }},
		{"the headers of a tunnel", func(a, b fields) bool { return a.tunnels != b.tunnels }},
		{"DSCP", func(a, b fields) bool { return a.tos>>2 != b.tos>>2 }},
		{"ECN", func(a, b fields) bool { return a.tos&3 != b.tos&3 }},
		{"TTL", func(a, b fields) bool { return a.ttl != b.ttl }},
		{"checksum of UDP, TCP or SCTP", func(a, b fields) bool { return a.checksum != b.checksum }},
		{"bytes behind the packet", func(a, b fields) bool { return a.beyond != b.beyond }},
	}
	all := make([]Change, len(kinds))
	for key, a := range pre.of {
		b, found := post.of[key]
		if !found || a.twice || b.twice {
			continue
		}
		for i, k := range kinds {
			all[i].What = k.what
			all[i].Sample++
			if k.differ(a, b) {
				all[i].Packets++
			}
		}
	}
	return slices.DeleteFunc(all, func(c Change) bool { return c.Packets == 0 })
}

func (c Change) String() string {
	if c.Packets == c.Sample {
		return c.What
	}
	return fmt.Sprintf("%s (in %.2g %%)", c.What, 100*float64(c.Packets)/float64(c.Sample))
}

// changesSay is empty if nothing changed.
func changesSay(all []Change) string {
	if len(all) == 0 {
		return ""
	}
	var names []string
	for _, c := range all {
		names = append(names, c.String())
	}
	return "the same packets differ in " + strings.Join(names, ", ")
}
