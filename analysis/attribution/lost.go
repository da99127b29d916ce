package attribution

import (
	"cmp"
	"fmt"
	"slices"

	"nines.dev/nines/result"
	"nines.dev/nines/terminal"
)

// lostPart is the smallest fraction of a packet's time whose lost events leave it unexplained: a
// twentieth. Whatever took that time may be what made the packet late.
const lostPart = 20

// lost returns what was lost of a packet's events, on the CPU of its path that lost most; nil if that
// is no more than a small part of its time.
func (t *timeline) lost(p path, begin, end int64) *result.Loss {
	var worst *result.Loss
	for _, tid := range append([]int32{p.sender, p.receiver}, p.between...) {
		thread, known := t.traced[tid]
		c := t.cpus[int32(thread.CPU)]
		if !known || c == nil {
			continue
		}
		for _, loss := range c.losses {
			part := result.Loss{CPU: loss.CPU, BeginNs: max(loss.BeginNs, begin), EndNs: min(loss.EndNs, end), Mostly: loss.Mostly}
			length := part.EndNs - part.BeginNs
			if length <= 0 || length*lostPart < end-begin {
				continue
			}
			part.Events = uint64(float64(loss.Events) * float64(length) / float64(loss.EndNs-loss.BeginNs))
			if worst == nil || length > worst.EndNs-worst.BeginNs {
				worst = &part
			}
		}
	}
	return worst
}

// LostWords says how much of a packet's time has no events, and what was lost there.
func LostWords(p result.PacketCauses) string {
	loss := p.Lost
	length := loss.EndNs - loss.BeginNs
	text := fmt.Sprintf("the recorder lost the events of %.0f %% of this packet's time: about %s in %s on CPU %d",
		float64(100*length)/float64(max(p.LatencyNs, 1)), terminal.Count(int(loss.Events), "event"), terminal.Duration(length), loss.CPU)
	if loss.Mostly != "" {
		text += fmt.Sprintf(", mostly of the kind %s", loss.Mostly)
	}
	return text
}

// losses are the notes on packets that lost events.
func losses(slowest []result.PacketCauses) []string {
	lost := slices.DeleteFunc(slices.Clone(slowest), func(p result.PacketCauses) bool { return p.Lost == nil })
	if len(lost) == 0 {
		return nil
	}
	worst := slices.MaxFunc(lost, func(a, b result.PacketCauses) int { return cmp.Compare(a.Lost.Events, b.Lost.Events) })
	return []string{fmt.Sprintf("%d of the slowest packets lost events, and are not explained; of packet %d, %s (a larger tracing.buffer loses fewer)",
		len(lost), worst.ID, LostWords(worst))}
}
