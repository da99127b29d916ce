package packetfile

import (
	"fmt"
	"slices"
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
	if r.parts == nil {
		all = r.remarksOfFile()
	} else {
		all = slices.Clone(r.parts.remarks)
	}
	if n := r.seen.Untimed; n > 0 {
		all = append(all, Remark{terminal.Grouped(n) + " packets have no time", true})
	}
	return all
}

// remarksOfFile are those of one file, of several.
func (r *Reader) remarksOfFile() []Remark {
	var all []Remark
	say := func(noisy, when bool, format string, args ...any) {
		if when {
			all = append(all, Remark{fmt.Sprintf(format, args...), noisy})
		}
	}
	if r.info.Format == Pcap && r.seen.Packets > 0 {
		microseconds, finer := r.pcap.unitNs == 1000, r.pcap.finer
		say(false, r.info.Interfaces[r.pcap.where].Mislabelled, "its header says microseconds, but the times are in nanoseconds, and are read as such")
		span := r.seen.LastNs - r.seen.FirstNs
		say(true, !microseconds && finer == 0 && r.seen.Packets >= coarsePackets && span >= coarseSpan.Nanoseconds(),
			"its header says nanoseconds, but no packet is later than %d ns within its second: the times may be in microseconds, and latencies 1000 times longer", int(finerFrom))
		say(true, microseconds && finer > 0, "%s packets have %d microseconds or more within their second; such times are wrong", terminal.Grouped(finer), int(finerFrom))
	}
	if m := r.source.gzip; m != nil {
		unused := m.unused(r.source.raw.done, r.source.size)
		say(false, unused > 0, "%s bytes follow its gzip data, and are not used", terminal.Grouped(uint64(unused)))
	}
	return all
}
