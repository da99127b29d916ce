package analyze

import (
	"time"

	"nines.dev/nines/result"
)

// The time blocks of a trial: as many as the engine's, and no shorter.
const (
	timeBlocks   = 100
	leastBlockNs = 1_000_000
)

// blocks counts the latencies of a stream by the time of sending: the clock of the other point may be hours away. Nil
// for a stream that is too short.
func (s *stream) blocks() (*result.Blocks, error) {
	first := s.sentNs[0]
	span := s.sentNs[len(s.sentNs)-1] - first
	count := min(span/leastBlockNs, timeBlocks)
	if count < 2 {
		return nil, nil
	}
	blocks := &result.Blocks{Length: time.Duration(span / count)}
	counted := newSparse()
	var pairs []int64
	pack := func() error {
		pairs = pairs[:0]
		for _, pair := range counted.sparse().Counts {
			pairs = append(pairs, pair[0], pair[1])
		}
		packed, err := result.PackCounts(pairs)
		blocks.Counts = append(blocks.Counts, packed)
		counted.reset()
		return err
	}
	for i, sent := range s.sentNs {
		// Times that go back stay in the block.
		for int64(len(blocks.Counts)) < min((sent-first)/(span/count), count-1) {
			if err := pack(); err != nil {
				return nil, err
			}
		}
		if received := s.receivedNs[i]; received != lost {
			counted.add(received - sent)
		}
	}
	return blocks, pack()
}
