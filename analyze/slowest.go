package analyze

import (
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
	var unclear []int
	for i, w := range worst {
		rows[i] = result.SlowPacket{LatencyNs: w.LatencyNs, PreNs: w.PreNs, PostNs: w.PostNs, PreFrame: w.Number, Flow: w.Flow}
		if rows[i].PostFrame = d.post.numberAt(w.PostNs); rows[i].PostFrame == 0 && w.Key != nil {
			unclear = append(unclear, i)
		}
	}
	return rows, a.numbersByKey(ctx, worst, rows, unclear)
}

// numberAt is the number in the file of the only packet at a time; 0 if the time does not tell.
func (s *side) numberAt(ns int64) uint64 {
	if s.mixed {
		return 0
	}
	times := s.timesNs()
	at, found := slices.BinarySearch(times, ns)
	if !found || at+1 < len(times) && times[at+1] == ns {
		return 0
	}
	return s.number(uint32(at))
}

// numbersByKey reads POST again, up to the last of the packets whose numbers their times do not tell.
func (a *Analysis) numbersByKey(ctx context.Context, worst []Worst, rows []result.SlowPacket, unclear []int) error {
	if len(unclear) == 0 {
		return nil
	}
	if err := a.post.reader.Rewind(); err != nil {
		return err
	}
	batch := make([]packetfile.Packet, batchPackets)
	for len(unclear) > 0 {
		n, err := a.post.reader.NextBatch(batch)
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("read %s again: %w; check whether it has changed", a.Options.Post, err)
		}
		for i := range batch[:n] {
			p := &batch[i]
			link := a.post.reader.Info().Interfaces[p.Interface].LinkType
			at := slices.IndexFunc(unclear, func(i int) bool { return worst[i].PostNs == a.post.timeOf(p) })
			if at < 0 {
				continue
			}
			hash, _ := a.extract.of(plainnessOf(link, p.Data), link, p.Data)
			at = slices.IndexFunc(unclear, func(i int) bool { return worst[i].PostNs == a.post.timeOf(p) && worst[i].hash == hash })
			if at >= 0 {
				rows[unclear[at]].PostFrame = p.Number
				unclear = slices.Delete(unclear, at, at+1)
			}
		}
	}
	return nil
}
