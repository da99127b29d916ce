package recording

import "nines.dev/nines/result"

const batchPackets = 4096

// batch holds rows and the values that they point to.
type batch struct {
	rows    [batchPackets]result.Packet
	rx      [batchPackets]int64
	latency [batchPackets]int64
	gap     [batchPackets]uint32
	arrival [batchPackets]uint32
}

// Packets returns the rows of all packets; complete says whether nothing is missing.
func (r *Recording) Packets(complete bool) *result.Packets {
	return &result.Packets{Complete: complete, Batches: func(write func([]result.Packet) error) error {
		position := make([]uint32, r.sent.len()) // of each packet in the order of arrival
		for at, packet := range r.arrival {
			position[packet] = uint32(at)
		}
		var b batch
		for from := 0; from < r.sent.len(); from += batchPackets {
			n := min(batchPackets, r.sent.len()-from)
			for i := range n {
				r.fill(&b, i, from+i, position)
			}
			if err := write(b.rows[:n]); err != nil {
				return err
			}
		}
		return nil
	}}
}

func (r *Recording) fill(b *batch, i, at int, position []uint32) {
	p := r.packet(at)
	row := &b.rows[i]
	*row = result.Packet{
		ID: p.id, Flow: p.id % uint32(r.Flows()), IntendedNs: p.txNs - int64(p.lagNs), TxNs: p.txNs,
	}
	if !p.received {
		return
	}
	b.rx[i], b.latency[i], b.gap[i], b.arrival[i] = p.rxNs, p.latencyNs, p.pollGapNs, position[at]
	row.RxNs, row.LatencyNs, row.PollGapNs, row.Arrival = &b.rx[i], &b.latency[i], &b.gap[i], &b.arrival[i]
	if len(r.duplicates) > 0 {
		row.Duplicates = r.duplicates[uint32(at)]
	}
}
