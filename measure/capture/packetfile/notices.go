package packetfile

import (
	"fmt"
	"time"
)

// Notices are sentences about what is odd in what has been read, apart from Damage;
// most of them matter to who compares times.
func (r *Reader) Notices() []string {
	var all []string
	s := r.seen
	say := func(format string, values ...any) { all = append(all, fmt.Sprintf(format, values...)) }
	if s.Backwards > 0 {
		say("the clock runs backwards at %s of %s packets, by %v at most", grouped(s.Backwards), grouped(s.Packets), time.Duration(s.LargestBackwardsNs))
	}
	if s.Untimed > 0 {
		say("%s of %s packets have no time (pcapng's simple packets)", grouped(s.Untimed), grouped(s.Packets))
	}
	if r.info.Resolution != 0 && r.info.Resolution < Nanoseconds {
		say("times are in steps of %s: latencies are no finer", r.info.Resolution)
	}
	var dropped uint64
	links := map[LinkType]bool{}
	for _, i := range r.info.Interfaces {
		dropped += i.Dropped
		links[i.LinkType] = true
		if i.LinkType != MoonSniffID && !i.LinkType.Understood() {
			say("packets of %s are not understood; Ethernet, raw IP, Linux cooked and loopback are: of others only whole packets can be compared", i.LinkType)
		}
	}
	if dropped > 0 {
		say("the capturing tool says that it lost %s packets", grouped(dropped))
	}
	if len(links) > 1 {
		say("its interfaces have %d different link types", len(links))
	}
	return all
}
