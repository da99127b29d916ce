package analyze

// split divides a capture whose packets are in order of time by their direction. Both parts share
// its flows. Its own memory is free afterwards.
func (s *side) split(back func(endpoints) bool) (ahead, returning *side, err error) {
	partOf := make([]int, len(s.flows.flows)+1) // the last: of packets without a flow
	for i, e := range s.flows.flows {
		if back(e) {
			partOf[i] = 1
		}
	}
	of := s.flows.of.all[:s.count]
	partAt := func(packet uint32) int { return partOf[min(int(of[packet]), len(partOf)-1)] }
	var counts [2]int
	for packet := range uint32(s.count) {
		counts[partAt(packet)]++
	}
	var parts [2]*side
	for i := range parts {
		if parts[i], err = s.part(counts[i]); err != nil {
			return nil, nil, err
		}
	}
	defer s.free()
	place := make([]uint32, s.count) // of each packet, in its part
	for packet, ns := range s.timesNs() {
		p := parts[partAt(uint32(packet))]
		place[packet] = uint32(p.count)
		p.times.all[p.count] = ns
		p.flows.of.all[p.count] = of[packet]
		if s.places.of != nil {
			p.places.of = append(p.places.of, s.places.at(uint32(packet)))
		}
		p.file = append(p.file, uint32(s.number(uint32(packet))-1))
		p.count++
	}
	for part := range s.chunks {
		s.partition(part, func(_ uint32, entries []entry) {
			for _, e := range entries {
				p := parts[partAt(e.at)]
				p.put(uint64(part), entry{e.hi, e.lo, place[e.at]})
				p.unkeyed--
			}
		})
	}
	return parts[0], parts[1], nil
}

// part is an empty side with room for some packets of a capture.
func (s *side) part(packets int) (*side, error) {
	p := &side{
		path: s.path, reader: s.reader, offsetNs: s.offsetNs, cut: s.cut, shift: s.shift, chunks: make([][]uint32, len(s.chunks)), next: make([]uint32, len(s.next)),
		untimed: s.untimed, unkeyedOf: s.unkeyedOf, flows: s.flows.sameFlows(), file: make([]uint32, 0, packets), unkeyed: uint64(packets),
	}
	// In each partition the last chunk can be nearly empty.
	if err := p.entries.reserve(packets + chunkEntries*len(s.chunks)); err != nil {
		return nil, err
	}
	if err := p.times.reserve(packets); err != nil {
		return nil, err
	}
	return p, p.flows.reserve(packets)
}
