package recording

import (
	"errors"
	"fmt"
	"math"
	"os"
	"sort"

	"nines.dev/nines/measure/metrics"
	"nines.dev/nines/result"
)

// MetricsMax is the most packets for which metrics are computed: they need 4 GiB for this many.
const MetricsMax = 100_000_000

// Recording holds the packets of one trial, each by its place in send order.
type Recording struct {
	sent, received records
	// first is the place in received where a packet first arrived, plus 1; 0: never.
	first []uint32
	// arrival lists the packets in order of arrival, without duplicates.
	arrival    []uint32
	duplicates map[uint32]uint32 // by packet
	// Unknown counts received packets without a record of being sent.
	Unknown uint64
}

// Open maps the two files of a recording and finds each sent packet among those received.
func Open(sent, received *os.File) (*Recording, error) {
	r := &Recording{duplicates: make(map[uint32]uint32)}
	if err := r.open(sent, received); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.match()
	return r, nil
}

func (r *Recording) open(sent, received *os.File) (err error) {
	if r.sent, err = mapFile(sent, kindSent); err != nil {
		return err
	}
	if r.received, err = mapFile(received, kindReceived); err != nil {
		return err
	}
	return r.check()
}

func (r *Recording) check() error {
	if n := max(r.sent.len(), r.received.len()); n >= math.MaxUint32 {
		return fmt.Errorf("a recording of %d packets is longer than %d", n, math.MaxUint32-1)
	}
	for i := 1; i < r.sent.len(); i++ {
		if r.sent.id(i) <= r.sent.id(i-1) {
			return fmt.Errorf("packet %d was sent after %d: the record is damaged", r.sent.id(i), r.sent.id(i-1))
		}
	}
	return nil
}

func (r *Recording) match() {
	r.first = make([]uint32, r.sent.len())
	r.arrival = make([]uint32, 0, min(r.sent.len(), r.received.len()))
	for i := range r.received.len() {
		packet, sent := r.place(r.received.id(i))
		switch {
		case !sent:
			r.Unknown++
		case r.first[packet] != 0:
			r.duplicates[uint32(packet)]++
		default:
			r.first[packet] = uint32(i) + 1
			r.arrival = append(r.arrival, uint32(packet))
		}
	}
}

// place finds a packet by its id: the same number, unless earlier ids were never sent.
func (r *Recording) place(id uint32) (packet int, sent bool) {
	n := r.sent.len()
	if int(id) < n && r.sent.id(int(id)) == id {
		return int(id), true
	}
	packet = sort.Search(min(n, int(id)), func(i int) bool { return r.sent.id(i) >= id })
	return packet, packet < n && r.sent.id(packet) == id
}

// Sent and Received are the numbers of packets in the recording, without duplicates.
func (r *Recording) Sent() uint64     { return uint64(r.sent.len()) }
func (r *Recording) Received() uint64 { return uint64(len(r.arrival)) }

// Duplicates is the number of packets received again.
func (r *Recording) Duplicates() uint64 {
	var total uint64
	for _, n := range r.duplicates {
		total += uint64(n)
	}
	return total
}

// Flows is the number of flows that the packets alternate between.
func (r *Recording) Flows() int { return r.sent.flows }

// Close unmaps the files.
func (r *Recording) Close() error { return errors.Join(r.sent.close(), r.received.close()) }

// packet is what is known of one packet.
type packet struct {
	id               uint32
	lagNs, pollGapNs uint32
	txNs, rxNs       int64 // since the first measured packet was due
	latencyNs        int64
	received         bool
}

// packet returns the i-th packet. The receiver's calibration converts both stamps to time, as in
// the engine: two engines' calibrations differ by more than packets take.
func (r *Recording) packet(i int) packet {
	var p packet
	var tx uint64
	c, start := r.received.clock, r.received.measuredStartNs
	p.id, p.lagNs, tx = r.sent.record(i)
	p.txNs = c.at(tx) - start
	if r.first[i] == 0 {
		return p
	}
	var rx uint64
	_, p.pollGapNs, rx = r.received.record(int(r.first[i] - 1))
	p.received = true
	p.rxNs = c.at(rx) - start
	p.latencyNs = int64(p.lagNs)
	if rx > tx { // otherwise the CPUs' counters disagree
		p.latencyNs += c.span(rx - tx)
	}
	return p
}

// Stream returns the packets as input for the metrics. Delays count from when the packets were due,
// as in the summary.
func (r *Recording) Stream() metrics.Stream {
	n := r.sent.len()
	s := metrics.Stream{
		SentNs: make([]int64, n), ReceivedNs: make([]int64, n), DueNs: make([]int64, n),
		Arrival: r.arrival, Duplicates: r.Duplicates(),
	}
	for i := range n {
		p := r.packet(i)
		s.SentNs[i], s.ReceivedNs[i], s.DueNs[i] = p.txNs, metrics.Lost, p.txNs-int64(p.lagNs)
		if p.received {
			s.ReceivedNs[i], s.DueNs[i] = p.rxNs, p.rxNs-p.latencyNs
		}
	}
	return s
}

// Metrics computes those of all packets, and of each flow if there are several; flow names them.
func (r *Recording) Metrics(flow func(n int) string) *result.Metrics {
	s := r.Stream()
	m := &result.Metrics{Schema: result.MetricsSchema, All: metrics.Of("", s)}
	flows := r.Flows()
	if flows < 2 {
		return m
	}
	list := make([]metrics.Flow, flows)
	for f := range list {
		list[f].Name = flow(f)
	}
	flowOf := func(packet int) int { return int(r.sent.id(packet)) % flows }
	for packet, n := range r.duplicates {
		list[flowOf(int(packet))].Duplicates += uint64(n)
	}
	m.Flows = metrics.OfFlows(list, flowOf, s)
	return m
}
