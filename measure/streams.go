package measure

import (
	"fmt"
	"time"

	"nines.dev/nines/measure/traffic"
	"nines.dev/nines/result"
)

// importStreams takes the streams of a trial with several; nil if it has one, whose figures are the trial's.
func importStreams(outcome traffic.Outcome, measured time.Duration) ([]result.StreamRecord, error) {
	sent, received := outcome.Tx.Streams, outcome.Rx.Streams
	if len(sent) != len(received) {
		return nil, fmt.Errorf("the sink counted %d streams, and the generator %d", len(received), len(sent))
	}
	if len(sent) < 2 {
		return nil, nil
	}
	var records []result.StreamRecord
	for i, tx := range sent {
		rx := received[i]
		if rx.Name != tx.Name || rx.RxPackets > tx.TxPackets {
			return nil, fmt.Errorf("the sink counted %d packets of stream %s, of the %d that were sent by stream %s", rx.RxPackets, rx.Name, tx.TxPackets, tx.Name)
		}
		latency, err := result.ImportHistogram(result.Sparse(rx.Latency))
		if err != nil {
			return nil, fmt.Errorf("the engine's histogram of stream %s: %w", rx.Name, err)
		}
		s := result.Stream{
			Name: tx.Name, OfferedPPS: perSecond(tx.TxPackets, measured),
			TxPackets: tx.TxPackets, RxPackets: rx.RxPackets, LostPackets: tx.TxPackets - rx.RxPackets,
			DuplicatePackets: rx.DuplicatePackets, ReorderedPackets: rx.ReorderedPackets,
		}
		if tx.IntendedPackets > tx.TxPackets && !outcome.Tx.Interrupted {
			s.UnsentPackets = tx.IntendedPackets - tx.TxPackets
		}
		records = append(records, result.StreamRecord{Stream: s, Latency: latency})
	}
	return records, nil
}
