package analyze

import (
	"errors"
	"io"

	"nines.dev/nines/analyze/packetfile"
)

// leastDepth leaves an IP header, whose id may tell packets apart.
const leastDepth = plainHeaders

// limitDepth lowers the depth of the key to what both captures have of their packets, as the first
// ones show: a packet has no key in a capture that cuts it off before.
func (a *Analysis) limitDepth() error {
	for _, s := range a.whole {
		batch := make([]packetfile.Packet, batchPackets)
		n, err := s.reader.NextBatch(batch)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		for _, p := range batch[:n] {
			if int(p.Length) <= len(p.Data) {
				continue
			}
			f := dissect(s.reader.Info().Interfaces[p.Interface].LinkType, p.Data)
			if f.network < 0 || f.length > 0 && f.network+f.length <= len(p.Data) {
				continue // only what follows the packet was cut off
			}
			if has := len(p.Data) - f.behind() + plainHeaders; has >= leastDepth+leastContent && has < a.extract.depth {
				a.extract.setDepth(has)
				a.cutIn = s.path
			}
		}
		if err := s.reader.Rewind(); err != nil {
			return err
		}
	}
	return nil
}
