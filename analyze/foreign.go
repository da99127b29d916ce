package analyze

// Traffic between hosts of which one capture has none passes only one of the points: spanning tree
// and LLDP, ARP in front of a router, a login to the capturing machine. It is no part of
// the measurement. Packets of a host whose other packets arrive are lost, and not left out.

// hosts are the pairs of hosts of which there are packets, in either direction.
func (t *flowTable) hosts() map[endpoints]bool {
	all := make(map[endpoints]bool, 2*len(t.flows))
	for _, e := range t.flows {
		hosts := e.hosts()
		all[hosts], all[hosts.reversed()] = true, true
	}
	return all
}

// beyond reports which flows are between hosts that the other capture does not have; nil: none.
func (t *flowTable) beyond(other map[endpoints]bool) (foreign []bool) {
	for i, e := range t.flows {
		if !other[e.hosts()] {
			if foreign == nil {
				foreign = make([]bool, len(t.flows)+1) // the last: packets without a flow
			}
			foreign[i] = true
		}
	}
	return foreign
}

// leaveOutForeign leaves out packets of hosts that are in one capture only.
func (d *Direction) leaveOutForeign() {
	pre, post := d.pre.flows.beyond(d.post.flows.hosts()), d.post.flows.beyond(d.pre.flows.hosts())
	if pre != nil {
		d.leaveOutSent(pre)
	}
	if post != nil {
		flow := d.post.flows.of.all
		kept := d.matched.unknown[:0]
		for _, packet := range d.matched.unknown {
			if post[min(int(flow[packet]), len(post)-1)] {
				d.Counts.PostForeign++
				continue
			}
			kept = append(kept, packet)
		}
		d.Counts.PostUnknown -= d.Counts.PostForeign
		d.matched.unknown = kept
	}
}

// leaveOutSent leaves out PRE's packets of foreign flows, but not those of a flow that has pairs:
// its addresses are translated on the way.
func (d *Direction) leaveOutSent(foreign []bool) {
	flow, received := d.pre.flows.of.all[:d.pre.count], d.matched.receivedNs.all[:d.pre.count]
	of := func(packet int) int { return min(int(flow[packet]), len(foreign)-1) }
	for i, ns := range received {
		if ns > leftOut {
			foreign[of(i)] = false
		}
	}
	ambiguous := uint64(0)
	for i, ns := range received {
		switch {
		case !foreign[of(i)]:
		case ns == lost:
			received[i] = leftOut
			d.Counts.Lost--
			d.Counts.PreForeign++
			d.foreignSeems(d.pre.flows.endpointsAt(flow[i]))
		case ns == leftOut:
			ambiguous++
		}
	}
	unkeyed := make(map[endpoints]uint64)
	for f, is := range foreign {
		if hosts := d.pre.flows.endpointsAt(uint16(f)).hosts(); is {
			unkeyed[hosts] = d.pre.unkeyedOf[hosts]
		}
	}
	for _, n := range unkeyed {
		ambiguous -= n
	}
	ambiguous = min(ambiguous, d.Counts.PreAmbiguous)
	d.Counts.PreAmbiguous -= ambiguous
	d.Counts.PreForeign += ambiguous
}

// foreignSeems remembers packets that a device may have lost altogether: those from one host to
// another. What is sent to all hosts, or is not IP, mostly stays in its network.
func (d *Direction) foreignSeems(e endpoints) {
	if to := e.to.Addr(); to.IsValid() && !to.IsMulticast() && !to.IsLinkLocalUnicast() && to.AsSlice()[len(to.AsSlice())-1] != 0xff {
		d.unicastForeign++
	}
}
