package packetfile

// drops are packets of an interface that the capturing tool lost.
type drops struct {
	statistics uint64 // in the last interface statistics
	packets    uint64 // with the packets, each since the one before
}

// all counts them once: a tool that reports them in both ways reports the same ones.
func (d drops) all() uint64 { return max(d.statistics, d.packets) }

const dropsUnknown = 0xffff // in an obsolete packet block

// obsoleteDrops takes the number that an obsolete packet block has in its head, appendix A.
func (r *Reader) obsoleteDrops(where uint32, count uint16) {
	if count != dropsUnknown {
		r.lost(where, uint64(count))
	}
}

func (r *Reader) lost(where uint32, packets uint64) {
	d := &r.pcapng.drops[where-r.pcapng.first]
	d.packets += packets
	r.info.Interfaces[where].Dropped = d.all()
}
