package analyze

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"nines.dev/nines/analyze/packetfile"
	"nines.dev/nines/exit"
	"nines.dev/nines/terminal"
)

// noPacket is the error for a capture without packets.
func (a *Analysis) noPacket(s *side) error {
	if all, chosen := s.reader.Chosen(); chosen && all > 0 && s.seen.Packets == 0 {
		return s.reader.NoneChosen()
	}
	if n := s.seen.Untimed; n > 0 && n == s.seen.Packets {
		return exit.Wrongf("%s: has no times: its %s packets are in simple packet blocks, which have none; capture with a tool that writes times", s.path, terminal.Grouped(n))
	}
	reason := "has no packets"
	if s.damage != nil {
		reason = "has no packet that can be read: " + s.damage.String()
	}
	return exit.Wrongf("%s: %s; without packets on both sides there is nothing to evaluate", s.path, reason)
}

// noPair is the error for a pair without a single match, with the evidence for its cause.
func (a *Analysis) noPair() error {
	c, o := a.Counts, a.Options
	keyedPre, keyedPost := uint64(a.pre.count)-c.PreUnkeyed, uint64(a.post.count)-c.PostUnkeyed
	switch {
	case keyedPre == 0 || keyedPost == 0:
		which := o.Pre
		if keyedPre > 0 {
			which = o.Post
		}
		return exit.Wrongf("no packet of %s has a key of kind %q; choose another one with --key.%s", which, o.Key, a.show())
	case c.PostAmbiguous > 0 && c.PostAmbiguous+c.PostUnknown == keyedPost:
		return exit.Wrongf("each key of %s that %s has too occurs more than once in it, so that its packets cannot be distinguished (%s ambiguous packets); choose another key with --key%s.%s",
			o.Pre, o.Post, terminal.Grouped(c.PreAmbiguous), orDepth(o), a.show())
	case len(a.Segmented) > 0:
		return exit.Wrongf("%s", a.segmentedSays())
	case c.Early+c.Late == 0:
		remedy := "check that they are from the same run"
		switch o.Key {
		case Content:
			remedy += " If the packets change on the way, use --key flow, nines or moonsniff, depending on the id that they carry."
		case Published:
			remedy += " If the packets pass a router, use --key content."
		}
		return exit.Wrongf("%s and %s have no packet in common; %s%s", o.Pre, o.Post, remedy, a.show())
	}
	return exit.Wrongf("%s", a.clocksApart())
}

// orDepth is the remedy for packets that differ further behind.
func orDepth(o Options) string {
	if o.Key == Content && o.Depth < WholePacket {
		return ", or compare whole packets by --depth all"
	}
	return ""
}

// clocksApart describes packets found in both captures at times that do not fit.
func (a *Analysis) clocksApart() string {
	c, o := a.Counts, a.Options
	early, late := together(a.matched.apart.early), together(a.matched.apart.late)
	all := early
	all.merge(late)
	least, most := all.leastNs, all.mostNs
	switch {
	case a.shifted != nil:
		return a.shiftedSays()
	case c.Early >= c.Late && most > -o.Window.Nanoseconds():
		return fmt.Sprintf("%s of %s packets in both captures are not later in %s than in %s, but earlier, by %v to %v: the two are swapped, or the clocks are apart. Swapped: nines analyze %s %s. Clocks: --offset %v moves POST's times so that the fastest packet takes no time; use more if you know it from elsewhere",
			terminal.Grouped(c.Early), terminal.Grouped(c.Early+c.Late), o.Post, o.Pre, duration(-most), duration(-least), o.Post, o.Pre, a.offsetAdvice(-least))
	}
	return fmt.Sprintf("the same packets are in %s %v to %v later than in %s, further apart than the %v within which a packet has to arrive: the clocks are apart, or the captures are of different runs. --offset %v moves POST's times so that the fastest packet takes no time; the measurement is then relative to it",
		o.Post, duration(least), duration(most), o.Pre, o.Window, a.offsetAdvice(-least))
}

// sameTimes reports whether each packet has one time in both captures.
func (a *Analysis) sameTimes() bool {
	return a.Back == nil && a.Counts.Early == 0 && a.first.Count > 0 && a.first.Max == 0
}

func (a *Analysis) copies() string {
	return fmt.Sprintf("%s and %s have the same packets at the same times: they are copies of one capture, or one of them has the other's times", a.Options.Pre, a.Options.Post)
}

// offsetAdvice is an offset to request, of which some is requested already.
func (a *Analysis) offsetAdvice(moreNs int64) time.Duration {
	return a.Options.Offset + duration(moreNs)
}

func duration(ns int64) time.Duration { return time.Duration(ns) }

// show describes the first packets of both captures.
func (a *Analysis) show() string {
	var b strings.Builder
	for _, s := range a.whole {
		fmt.Fprintf(&b, "\n  %s begins with", s.path)
		for _, line := range a.firstKeys(s, 3) {
			b.WriteString("\n    " + line)
		}
		if s.damage != nil {
			fmt.Fprintf(&b, "\n  and is damaged: %s", s.damage)
		}
	}
	return b.String()
}

func (a *Analysis) firstKeys(s *side, n int) []string {
	if err := s.reader.Rewind(); err != nil {
		return []string{err.Error()}
	}
	var lines []string
	for len(lines) < n {
		p, err := s.reader.Next()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				lines = append(lines, err.Error())
			}
			break
		}
		lines = append(lines, a.extract.describe(s.reader.Info().Interfaces[p.Interface].LinkType, p))
	}
	return lines
}

// describe formats a packet and its key for people.
func (x *extractor) describe(link packetfile.LinkType, p packetfile.Packet) string {
	if link == packetfile.MoonSniffID {
		id, _ := x.id(notPlain, link, p.Data)
		return fmt.Sprintf("id %d", id)
	}
	f := dissect(link, p.Data)
	e := endpointsOf(&f)
	what := e.String()
	if e.sort == unknownEndpoints {
		what = fmt.Sprintf("%s, EtherType %#04x", link, f.etherType)
	}
	if f.network >= 0 {
		switch h := f.data[min(f.network, len(f.data)):]; {
		case f.etherType == etherIPv4 && len(h) >= 20:
			what += fmt.Sprintf(", TTL %d", h[8])
		case f.etherType == etherIPv6 && len(h) >= 40:
			what += fmt.Sprintf(", hop limit %d", h[7])
		}
	}
	what += fmt.Sprintf(", %d bytes", p.Length)
	if _, ok := x.of(plainnessOf(link, p.Data), link, p.Data); !ok {
		return what + ", no key"
	}
	if id, ok := (&extractor{key: Flow}).id(notPlain, link, p.Data); ok {
		what += fmt.Sprintf(", id %d", uint32(id))
	}
	return what + ", key " + hex.EncodeToString(x.bytes(link, p.Data))
}
