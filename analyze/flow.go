package analyze

import (
	"encoding/binary"

	"nines.dev/nines/analyze/packetfile"
)

const (
	// maxFlows is the most flows that are told apart. With more of them, nobody would look at
	// single flows: then only the pairs of hosts are, which say in which direction a packet goes.
	maxFlows = 64
	// unknownFlow is the flow of packets beyond the most pairs of hosts.
	unknownFlow = 1<<16 - 1
)

// flowTable assigns each packet of a capture to a flow: by addresses, protocol and ports, or by
// stream for nines' own payload.
type flowTable struct {
	nines *extractor // nil: by addresses
	of    column[uint16]
	flows []endpoints
	loads []load // of each flow
	known map[endpoints]uint16
	cache [128]flowCache
	// ports is what counts of the ports and the protocol: all bits or none.
	ports uint64
	// hostsOnly: there are more flows than are told apart.
	hostsOnly bool
}

// flowCache remembers the last plain packets.
type flowCache struct {
	addresses, rest uint64
	flow            uint16
}

// cachedRest is set in all entries in use; rest has the ports and the protocol below, if these
// count.
const cachedRest = 1 << 63

func newFlowTable(x *extractor) *flowTable {
	t := &flowTable{known: make(map[endpoints]uint16), ports: 1<<64 - 1}
	if x.key == Nines {
		t.nines = x
	}
	return t
}

// sameFlows is a table of the same flows without packets.
func (t *flowTable) sameFlows() *flowTable {
	return &flowTable{nines: t.nines, flows: t.flows, loads: t.loads, known: t.known, hostsOnly: t.hostsOnly}
}

func (t *flowTable) reserve(n int) error { return t.of.reserve(n) }

// take records the flow of a packet.
func (t *flowTable) take(packet int, plain plainness, link packetfile.LinkType, data []byte) {
	t.of.all[packet] = t.find(packet, t.endpoints(link, data))
	if plain != notPlain && t.nines == nil {
		c, addresses, rest := t.place(plain, data)
		*c = flowCache{addresses, rest, t.of.all[packet]}
	}
}

// addLoad counts what a TCP packet of a flow carries.
func (t *flowTable) addLoad(packet, bytes int) {
	if flow := t.of.all[packet]; flow != unknownFlow {
		t.loads[flow].add(bytes)
	}
}

// cached is take for a plain packet of a flow that was seen lately; false for others.
func (t *flowTable) cached(packet int, plain plainness, data []byte) bool {
	c, addresses, rest := t.place(plain, data)
	t.of.all[packet] = c.flow
	return c.addresses == addresses && c.rest == rest
}

// place is where a plain packet's flow would be.
func (t *flowTable) place(plain plainness, data []byte) (c *flowCache, addresses, rest uint64) {
	addresses = binary.LittleEndian.Uint64(data[26:])
	rest = (uint64(binary.LittleEndian.Uint32(data[34:]))|uint64(plain)<<32)&t.ports | cachedRest
	return &t.cache[((addresses^rest*0x9e3779b97f4a7c15)*0x9e3779b97f4a7c15)>>57], addresses, rest
}

// find returns the flow of a packet; those before it have theirs.
func (t *flowTable) find(packet int, e endpoints) uint16 {
	if t.hostsOnly {
		e = e.hosts()
	}
	flow, ok := t.known[e]
	switch {
	case ok:
		return flow
	case !t.hostsOnly && len(t.flows) == maxFlows:
		t.forgetPorts(t.of.all[:packet])
		return t.find(packet, e)
	case len(t.flows) == unknownFlow:
		return unknownFlow
	}
	return t.add(e)
}

func (t *flowTable) add(e endpoints) uint16 {
	flow := uint16(len(t.flows))
	t.flows = append(t.flows, e)
	t.loads = append(t.loads, load{})
	t.known[e] = flow
	return flow
}

// forgetPorts keeps only the hosts of the flows so far.
func (t *flowTable) forgetPorts(of []uint16) {
	flows, loads := t.flows, t.loads
	t.loads = nil
	t.hostsOnly, t.flows, t.known, t.cache, t.ports = true, nil, make(map[endpoints]uint16), [128]flowCache{}, 0
	var became [maxFlows]uint16
	for i, e := range flows {
		became[i] = t.find(0, e)
		t.loads[became[i]].merge(loads[i])
	}
	for i, flow := range of {
		of[i] = became[flow]
	}
}

func (t *flowTable) endpoints(link packetfile.LinkType, data []byte) endpoints {
	if t.nines != nil {
		if id, ok := t.nines.id(plainnessOf(link, data), link, data); ok {
			return endpoints{sort: streamEndpoints, kind: uint16(id >> 32)}
		}
		return endpoints{}
	}
	f := dissect(link, data)
	return endpointsOf(&f)
}

// endpointsAt are those of a flow; none of unknownFlow.
func (t *flowTable) endpointsAt(flow uint16) endpoints {
	if int(flow) >= len(t.flows) {
		return endpoints{}
	}
	return t.flows[flow]
}

// answers reports whether there are two flows between the same hosts in opposite directions.
func (t *flowTable) answers() bool {
	seen := make(map[endpoints]bool)
	for _, e := range t.flows {
		hosts := e.hosts()
		if swapped := hosts.reversed(); swapped != hosts && seen[swapped] {
			return true
		}
		seen[hosts] = true
	}
	return false
}

// order reorders the packets' flows by time.
func (t *flowTable) order(file []uint32) {
	before := append([]uint16(nil), t.of.all[:len(file)]...)
	for place, packet := range file {
		t.of.all[place] = before[packet]
	}
}

// several reports whether there is more than one flow, and not too many.
func (t *flowTable) several() bool { return !t.hostsOnly && len(t.flows) > 1 }

func (t *flowTable) free() { t.of.free() }
