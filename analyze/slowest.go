package analyze

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/result"
)

// slowestShown is how many packets can be found in Wireshark by their numbers in both files.
const slowestShown = 20

// ofPair is what a page shows of a direction beyond a trial.
func (a *Analysis) ofPair(ctx context.Context, d *Direction, s *stream) (*result.Pair, error) {
	slowest, err := a.slowestPackets(ctx, d)
	p := &result.Pair{Pre: d.From, Post: d.To, Series: series(s), Slowest: slowest}
	if d.Clocks.Moves() && !d.followed {
		p.Series.ClockNs = clockOver(p.Series, s.sentNs[0], d.Clocks)
	}
	return p, err
}

func (a *Analysis) slowestPackets(ctx context.Context, d *Direction) ([]result.SlowPacket, error) {
	worst := d.Worst[:min(len(d.Worst), slowestShown)]
	rows := make([]result.SlowPacket, len(worst))
	var unclear []wantedPacket
	for i, w := range worst {
		rows[i] = result.SlowPacket{LatencyNs: w.LatencyNs, PreNs: w.PreNs, PostNs: w.PostNs, PreFrame: w.Number, Flow: w.Flow}
		captured := w.PostNs
		if d.followed {
			captured += d.Clocks.Moved(w.PreNs)
		}
		first, packets := d.post.numbersAt(captured)
		if packets == 1 {
			rows[i].PostFrame = first
		} else if w.Key != nil {
			unclear = append(unclear, wantedPacket{captured, w.hash, first, &rows[i].PostFrame})
		}
	}
	return rows, a.numbersByKey(ctx, unclear)
}

// wantedPacket is a packet of POST whose number is wanted, by its time and its key.
type wantedPacket struct {
	ns     int64
	hash   hash96
	least  uint64 // its number is not below this
	number *uint64
}

// numbersAt is how many packets have a time, and the first of their numbers in the file; 0 if the time does not tell.
func (s *side) numbersAt(ns int64) (first uint64, packets int) {
	if s.mixed {
		return 0, 0
	}
	times := s.timesNs()
	at, _ := slices.BinarySearch(times, ns)
	for at+packets < len(times) && times[at+packets] == ns {
		packets++
	}
	if packets == 0 {
		return 0, 0
	}
	return s.number(uint32(at)), packets
}

// numbersByKey reads POST again, up to the last of the packets whose numbers their times do not tell.
func (a *Analysis) numbersByKey(ctx context.Context, wanted []wantedPacket) error {
	if len(wanted) == 0 {
		return nil
	}
	if err := a.post.reader.Rewind(); err != nil {
		return err
	}
	var times timeFilter
	for _, w := range wanted {
		times.add(w.ns)
	}
	batch := make([]packetfile.Packet, batchPackets)
	slices.SortFunc(wanted, func(a, b wantedPacket) int { return cmp.Compare(a.least, b.least) })
	for len(wanted) > 0 {
		err := a.post.reader.SkipTo(wanted[0].least)
		var n int
		if err == nil {
			n, err = a.post.reader.NextBatch(batch)
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("read %s again: %w; check whether it has changed", a.Options.Post, err)
		}
		for i := range batch[:n] {
			p := &batch[i]
			if ns := a.post.timeOf(p); times.mayHave(ns) {
				wanted = a.take(wanted, p, ns)
			}
		}
	}
	return nil
}

// take gives a packet's number to the one that wants it, and returns those that are left.
func (a *Analysis) take(wanted []wantedPacket, p *packetfile.Packet, ns int64) []wantedPacket {
	if !slices.ContainsFunc(wanted, func(w wantedPacket) bool { return w.ns == ns }) {
		return wanted
	}
	link := a.post.reader.Info().Interfaces[p.Interface].LinkType
	hash, _ := a.extract.of(plainnessOf(link, p.Data), link, p.Data)
	at := slices.IndexFunc(wanted, func(w wantedPacket) bool { return w.ns == ns && w.hash == hash })
	if at < 0 {
		return wanted
	}
	*wanted[at].number = p.Number
	return slices.Delete(wanted, at, at+1)
}

// timeFilter tells of nearly all times that they are not among a few.
type timeFilter [64]uint64

func (*timeFilter) place(ns int64) (word, bit uint64) {
	h := uint64(ns) * 0x9e3779b97f4a7c15 >> 52
	return h >> 6, 1 << (h & 63)
}

func (f *timeFilter) add(ns int64) {
	word, bit := f.place(ns)
	f[word] |= bit
}

func (f *timeFilter) mayHave(ns int64) bool {
	word, bit := f.place(ns)
	return f[word]&bit != 0
}
