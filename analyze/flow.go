package analyze

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"nines.dev/nines/analyze/packetfile"
)

// maxFlows is the most flows that are told apart. With more of them, nobody would look at single
// flows.
const maxFlows = 64

// flowTable assigns each packet to a flow: by addresses, protocol and ports, or by stream for
// nines' own payload.
type flowTable struct {
	nines  *extractor // nil: by addresses
	of     column[uint8]
	names  []string
	known  map[string]uint8
	cache  [128]flowCache
	tooFew bool // there are more flows than room
}

// flowCache remembers the last plain IPv4 packets.
type flowCache struct {
	addresses, rest uint64
	flow            uint8
	used            bool
}

func newFlowTable(x *extractor) *flowTable {
	t := &flowTable{known: make(map[string]uint8)}
	if x.key == Nines {
		t.nines = x
	}
	return t
}

func (t *flowTable) reserve(n int) error {
	if t.tooFew {
		return nil
	}
	return t.of.reserve(n)
}

// take records the flow of a packet.
func (t *flowTable) take(packet int, link packetfile.LinkType, data []byte) {
	if t.tooFew {
		return
	}
	if t.nines == nil && link == packetfile.Ethernet && len(data) >= 42 && data[12] == 0x08 && data[13] == 0 && data[14] == 0x45 && data[23] == protoUDP {
		addresses := binary.LittleEndian.Uint64(data[26:])
		rest := uint64(binary.LittleEndian.Uint32(data[34:])) | uint64(data[20]&0x1f|data[21])<<32
		c := &t.cache[((addresses^rest*0x9e3779b97f4a7c15)*0x9e3779b97f4a7c15)>>57]
		if !c.used || c.addresses != addresses || c.rest != rest {
			flow, ok := t.find(t.name(link, data))
			if !ok {
				return
			}
			*c = flowCache{addresses, rest, flow, true}
		}
		t.of.all[packet] = c.flow
		return
	}
	if flow, ok := t.find(t.name(link, data)); ok {
		t.of.all[packet] = flow
	}
}

func (t *flowTable) find(name string) (uint8, bool) {
	flow, ok := t.known[name]
	if ok {
		return flow, true
	}
	if len(t.names) == maxFlows {
		t.tooFew = true
		t.of.free()
		return 0, false
	}
	flow = uint8(len(t.names))
	t.names = append(t.names, name)
	t.known[name] = flow
	return flow, true
}

// name is a flow's name, which alone identifies it.
func (t *flowTable) name(link packetfile.LinkType, data []byte) string {
	if t.nines != nil {
		if id, ok := t.nines.id(link, data); ok {
			return fmt.Sprintf("stream %d", id>>32)
		}
		return "other"
	}
	f := dissect(link, data)
	return f.flowName()
}

func (f *frame) flowName() string {
	from, to := f.addresses()
	if !from.IsValid() {
		return "other"
	}
	protocol := fmt.Sprintf("protocol %d", f.proto)
	switch f.proto {
	case protoUDP:
		protocol = "UDP"
	case protoTCP:
		protocol = "TCP"
	}
	if f.transport == 0 {
		return fmt.Sprintf("%s > %s %s", from, to, protocol)
	}
	source, target := f.ports()
	return fmt.Sprintf("%s > %s %s", netip.AddrPortFrom(from, source), netip.AddrPortFrom(to, target), protocol)
}

// addresses returns those of the IP header; invalid without one.
func (f *frame) addresses() (from, to netip.Addr) {
	if f.network < 0 || f.network >= len(f.data) {
		return
	}
	h := f.data[f.network:]
	switch {
	case f.etherType == etherIPv4 && len(h) >= 20:
		return netip.AddrFrom4([4]byte(h[12:16])), netip.AddrFrom4([4]byte(h[16:20]))
	case f.etherType == etherIPv6 && len(h) >= 40:
		return netip.AddrFrom16([16]byte(h[8:24])), netip.AddrFrom16([16]byte(h[24:40]))
	}
	return
}

// order reorders the packets' flows by time.
func (t *flowTable) order(file []uint32) {
	if t.tooFew {
		return
	}
	before := append([]uint8(nil), t.of.all[:len(file)]...)
	for place, packet := range file {
		t.of.all[place] = before[packet]
	}
}

// several reports whether there is more than one flow, and not too many.
func (t *flowTable) several() bool { return !t.tooFew && len(t.names) > 1 }

func (t *flowTable) free() { t.of.free() }
