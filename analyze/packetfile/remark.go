package packetfile

import (
	"fmt"
	"time"

	"nines.dev/nines/terminal"
)

// Remark is something odd about a file, in a clause that continues its name.
type Remark struct {
	Text string
	// Noisy is true if results of the file may be wrong because of it.
	Noisy bool
}

// A file that has fewer packets, or is shorter, can have small fractions of a second by chance.
const (
	coarsePackets = 10
	coarseSpan    = 2 * time.Second
)

// Remarks returns what is odd about the packets read so far.
func (r *Reader) Remarks() []Remark {
	var all []Remark
	say := func(noisy, when bool, format string, args ...any) {
		if when {
			all = append(all, Remark{fmt.Sprintf(format, args...), noisy})
		}
	}
	for _, i := range r.info.Interfaces {
		say(false, i.Mislabelled, "its header says microseconds, but the times are in nanoseconds, and are read as such")
	}
	if r.info.Format == Pcap && r.seen.Packets > 0 {
		microseconds, finer := r.pcap.unitNs == 1000, r.pcap.finer
		span := r.seen.LastNs - r.seen.FirstNs
		say(true, !microseconds && finer == 0 && r.seen.Packets >= coarsePackets && span >= coarseSpan.Nanoseconds(),
			"its header says nanoseconds, but no packet is later than %d ns within its second: the times may be in microseconds, and latencies 1000 times longer", int(finerFrom))
		say(true, microseconds && finer > 0, "%s packets have %d microseconds or more within their second; such times are wrong", terminal.Grouped(finer), int(finerFrom))
	}
	say(true, r.seen.Untimed > 0, "%s packets have no time", terminal.Grouped(r.seen.Untimed))
	return all
}
