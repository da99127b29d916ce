package link

import (
	"encoding/binary"
	"testing"

	"github.com/vishvananda/netlink/nl"

	"nines.dev/nines/spec"
)

// TestTheRateOfNetemCountsTheFCS, as that of every other kind of link does, whatever the rate.
func TestTheRateOfNetemCountsTheFCS(t *testing.T) {
	for _, rate := range []spec.BitRate{0, 8, 1e9, 400e9} {
		options := netemOptions(netemOf(1, spec.Impairment{Rate: rate})).Serialize()
		attributes, err := nl.ParseRouteAttr(options[4+nl.SizeofTcNetemQopt:])
		if err != nil {
			t.Fatal(err)
		}
		var bytes uint64
		var overhead int32
		for _, a := range attributes {
			switch a.Attr.Type {
			case nl.TCA_NETEM_RATE:
				is := nl.DeserializeTcNetemRate(a.Value)
				bytes, overhead = max(bytes, uint64(is.Rate)), is.PacketOverhead
			case nl.TCA_NETEM_RATE64:
				bytes = binary.NativeEndian.Uint64(a.Value)
			}
		}
		if bytes != uint64(rate/8) || overhead != 4 {
			t.Errorf("%v are %d bytes a second, with %d more for each frame", rate, bytes, overhead)
		}
	}
}
