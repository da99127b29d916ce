package measure

import (
	"fmt"
	"time"

	"nines.dev/nines/engine/client"
)

// mostInOne is the share of the lost packets from which one gap is what there is to say of the loss.
const mostInOne = 0.9

// lossInWords says where a trial's lost packets are, if most of them are in one gap: a device that was not ready, one that
// ended, or an outage. It is empty where they are spread, and where nobody knows.
func lossInWords(sent client.TrialResult, missing *client.Missing, received uint64, duration time.Duration) string {
	if missing == nil || sent.TxPackets <= received || received == 0 || sent.TxFailed > 0 {
		return ""
	}
	lost := sent.TxPackets - received
	last := sent.TxPackets - min(missing.Next, sent.TxPackets) // those after the largest that came
	at := func(packets uint64) time.Duration {
		return time.Duration(float64(duration) * float64(packets) / float64(max(sent.IntendedPackets, sent.TxPackets))).Round(time.Millisecond)
	}
	count, where := missing.Longest, ""
	switch {
	case last > count:
		count, where = last, fmt.Sprintf("the last %v", at(last))
	case missing.LongestFrom == 0:
		where = fmt.Sprintf("the first %v", at(count))
	default:
		where = fmt.Sprintf("one gap of %v, from %v on", at(count), at(missing.LongestFrom))
	}
	if count < 2 || float64(count) < mostInOne*float64(lost) {
		return ""
	}
	if count == lost {
		return fmt.Sprintf("all %d lost packets are %s", lost, where)
	}
	return fmt.Sprintf("%d of %d lost packets are %s", count, lost, where)
}
