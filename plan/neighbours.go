package plan

// neighbours are the other interfaces of the link, with their addresses of the IP versions that
// this one has: the kernel accepts no IPv6 neighbour where IPv6 is off. Behind devices that pass frames
// on unchanged, those on the traffic's path are neighbours as well.
func (w *work) neighbours(e *endpoint) []Neighbour {
	list := e.neighbours()
	for _, way := range [][]hop{w.hops(), reversed(w.hops())} {
		for i, h := range way {
			if far := beyond(way, i); h.out == e && far != h.in {
				list = append(list, e.neighbour(far)...)
			}
		}
	}
	return list
}

func (e *endpoint) neighbours() []Neighbour {
	if len(e.link.endpoints) > maxStaticNeighbours {
		return nil
	}
	var list []Neighbour
	for _, other := range e.link.endpoints {
		if other != e {
			list = append(list, e.neighbour(other)...)
		}
	}
	return list
}

func (e *endpoint) neighbour(other *endpoint) []Neighbour {
	var list []Neighbour
	for _, a := range other.addresses {
		if e.speaks(a.Addr()) {
			list = append(list, Neighbour{IP: a.Addr().String(), MAC: other.mac})
		}
	}
	return list
}
