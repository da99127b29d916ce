package analyze

import (
	"encoding/binary"
	"fmt"

	"nines.dev/nines/terminal"
)

// Segmentation offload: the kernel hands large TCP packets to the card, which cuts them behind the
// capture (TSO, GSO), and joins received ones before it (GRO, LRO). Two captures then have the same
// bytes in other packets, none of which is in both.

// load is what a flow's TCP packets carry.
type load struct {
	packets, bytes uint64
	longest        int
}

func (l *load) add(bytes int) {
	l.packets++
	l.bytes += uint64(max(bytes, 0))
	l.longest = max(l.longest, bytes)
}

func (l *load) merge(o load) {
	l.packets += o.packets
	l.bytes += o.bytes
	l.longest = max(l.longest, o.longest)
}

// plainLoad is that of a plain TCP packet.
func plainLoad(d []byte) int {
	return int(binary.BigEndian.Uint16(d[16:])) - 20 - int(d[14+20+12]>>4)*4
}

// tcpLoad is that of a dissected TCP packet of a length on the wire.
func (f *frame) tcpLoad(wire int) int {
	if f.length > 0 {
		return f.network + f.length - f.payload
	}
	return wire - f.payload
}

// Segmented is a flow whose packets were cut or joined between the captures.
type Segmented struct {
	Flow  string `json:"flow"`
	Bytes uint64 `json:"bytes"` // of TCP payload, in the capture before
	// FromLongest and ToLongest are the most bytes of TCP payload in a packet.
	FromLongest int    `json:"from_longest_bytes"`
	ToLongest   int    `json:"to_longest_bytes"`
	FromPackets uint64 `json:"from_packets"`
	ToPackets   uint64 `json:"to_packets"`
}

// sameBytes is how much the bytes of a segmented flow may differ, for losses and repeats.
const sameBytes = 0.02

// segmented finds such flows, by their places in pre and in post.
func (d *Direction) segmented() (found []Segmented, pre, post []bool) {
	for i, e := range d.pre.flows.flows {
		at, known := d.post.flows.known[e]
		if !known {
			continue
		}
		a, b := d.pre.flows.loads[i], d.post.flows.loads[at]
		shorter, longer := min(a.longest, b.longest), max(a.longest, b.longest)
		least, most := float64(min(a.bytes, b.bytes)), float64(max(a.bytes, b.bytes))
		if shorter <= 0 || longer < shorter+shorter/2 || a.packets == b.packets || least < (1-sameBytes)*most {
			continue
		}
		if found == nil {
			pre, post = make([]bool, len(d.pre.flows.flows)+1), make([]bool, len(d.post.flows.flows)+1)
		}
		pre[i], post[at] = true, true
		found = append(found, Segmented{e.String(), a.bytes, a.longest, b.longest, a.packets, b.packets})
	}
	return found, pre, post
}

// leaveOutSegmented leaves out packets of segmented flows that are in one capture only.
func (d *Direction) leaveOutSegmented() {
	if d.Counts.Lost == 0 || d.Counts.PostUnknown == 0 {
		return
	}
	var pre, post []bool
	if d.Segmented, pre, post = d.segmented(); len(d.Segmented) == 0 {
		return
	}
	received, flow := d.matched.receivedNs.all[:d.pre.count], d.pre.flows.of.all
	for i, ns := range received {
		if ns == lost && pre[min(int(flow[i]), len(pre)-1)] {
			received[i] = leftOut
			d.Counts.Lost--
			d.Counts.PreSegmented++
		}
	}
	kept := d.matched.unknown[:0]
	flow = d.post.flows.of.all
	for _, packet := range d.matched.unknown {
		if post[min(int(flow[packet]), len(post)-1)] {
			d.Counts.PostSegmented++
			continue
		}
		kept = append(kept, packet)
	}
	d.Counts.PostUnknown -= d.Counts.PostSegmented
	d.matched.unknown = kept
}

// segmentedSays names the first such flow and the remedy.
func (d *Direction) segmentedSays() string {
	s := d.Segmented[0]
	return fmt.Sprintf("%s has TCP segments of up to %s bytes in %s packets of %s where %s has up to %s bytes in %s: segmentation offload cuts or joins them between the captures, so that they cannot be compared; capture again after 'ethtool -K DEV tso off gso off gro off lro off' at both points",
		d.From, terminal.Grouped(uint64(s.FromLongest)), terminal.Grouped(s.FromPackets), s.Flow, d.To, terminal.Grouped(uint64(s.ToLongest)), terminal.Grouped(s.ToPackets))
}
