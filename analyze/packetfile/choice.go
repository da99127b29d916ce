package packetfile

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"nines.dev/nines/exit"
)

// Direction is the way of a packet through the interface that captured it.
type Direction uint8

// The directions. Most files do not say.
const (
	AnyDirection Direction = iota
	In
	Out
)

// ParseDirection reads the name of a direction.
func ParseDirection(name string) (Direction, error) {
	switch name {
	case "in":
		return In, nil
	case "out":
		return Out, nil
	}
	return AnyDirection, fmt.Errorf("unknown direction %q; allowed: in, out", name)
}

// Matcher reports whether a filter chooses a packet with that length on the wire.
type Matcher func(data []byte, length int) bool

// Choice says which packets of a file to read. A packet counts if it meets all that is set.
type Choice struct {
	// Interface is a name or an index in pcapng, and the kernel's index in Linux cooked v2.
	Interface string
	Direction Direction
	// Expression is a filter, for messages; Filter makes it for a link type.
	Expression string
	Filter     func(LinkType) (Matcher, error)
}

// All reports whether the choice is of all packets.
func (c Choice) All() bool {
	return c.Interface == "" && c.Direction == AnyDirection && c.Expression == ""
}

// String describes the choice as a point of a file; empty if it is of all packets.
func (c Choice) String() string {
	parts := []string{c.Interface}
	if c.Direction != AnyDirection {
		parts = append(parts, map[Direction]string{In: "in", Out: "out"}[c.Direction])
	}
	return strings.TrimSpace(strings.Join(append(parts, c.Expression), " "))
}

// chooser applies a choice.
type chooser struct {
	Choice
	filters map[LinkType]Matcher
	// directions are those that pcapng has for the packets of a batch.
	directions []Direction
	// seen are the packets of each interface, chosen or not, by its name.
	seen map[string]uint64
	// undirected counts packets without a direction.
	undirected uint64
}

// Choose says which packets to read, before any has been read.
func (r *Reader) Choose(c Choice) error {
	if c.All() {
		return nil
	}
	if r.info.Format == MoonSniff {
		return exit.Wrongf("%s: an .mscap file has ids only: no interface, no direction, and nothing to filter", r.source.path)
	}
	r.chooser = &chooser{Choice: c, filters: map[LinkType]Matcher{}, seen: map[string]uint64{}}
	return nil
}

// choose keeps the chosen packets of a batch, whose first has a number, and returns how many there are.
func (r *Reader) choose(packets []Packet, first uint64) (int, error) {
	c := r.chooser
	kept := 0
	for i := range packets {
		p := &packets[i]
		p.Number = first + uint64(i)
		at := &r.info.Interfaces[p.Interface]
		name := at.label(p)
		c.seen[name]++
		if c.Interface != "" && c.Interface != name && !at.is(c.Interface, p) {
			continue
		}
		if c.Direction != AnyDirection {
			direction := at.direction(p)
			if direction == AnyDirection && i < len(c.directions) {
				direction = c.directions[i]
			}
			if direction == AnyDirection {
				c.undirected++
			}
			if direction != c.Direction {
				continue
			}
		}
		wanted, err := c.wants(at.LinkType, p)
		if err != nil {
			return 0, err
		}
		if wanted {
			packets[kept] = *p
			kept++
		}
	}
	return kept, nil
}

func (c *chooser) wants(link LinkType, p *Packet) (bool, error) {
	if c.Filter == nil {
		return true, nil
	}
	match, ok := c.filters[link]
	if !ok {
		var err error
		if match, err = c.Filter(link); err != nil {
			return false, err
		}
		c.filters[link] = match
	}
	return match(p.Data, int(p.Length)), nil
}

// label names the interface of a packet.
func (i *Interface) label(p *Packet) string {
	if index, ok := i.kernelIndex(p); ok {
		return index
	}
	if i.Name != "" {
		return i.Name
	}
	return strconv.FormatUint(uint64(p.Interface), 10)
}

// is reports whether an interface has a name or an index.
func (i *Interface) is(name string, p *Packet) bool {
	return i.Name == name || i.LinkType != Cooked2 && strconv.FormatUint(uint64(p.Interface), 10) == name
}

// kernelIndex is the interface's index that Linux cooked v2 has in each packet, from byte 4 on.
func (i *Interface) kernelIndex(p *Packet) (string, bool) {
	if i.LinkType != Cooked2 || len(p.Data) < cooked2Bytes {
		return "", false
	}
	return strconv.FormatUint(uint64(binary.BigEndian.Uint32(p.Data[4:])), 10), true
}

// Linux cooked packets have the type of struct sockaddr_ll, packet(7), in their head.
const (
	cookedBytes    = 16
	cooked2Bytes   = 20
	packetOutgoing = 4
)

func (i *Interface) direction(p *Packet) Direction {
	var kind byte
	switch {
	case i.LinkType == Cooked && len(p.Data) >= cookedBytes:
		kind = p.Data[1]
	case i.LinkType == Cooked2 && len(p.Data) >= cooked2Bytes:
		kind = p.Data[10]
	default:
		return AnyDirection
	}
	if kind == packetOutgoing {
		return Out
	}
	return In
}

// NoneChosen is the error for a file of which no packet was chosen, with those there are.
func (r *Reader) NoneChosen() error {
	c := r.chooser
	var names []string
	for name := range c.seen {
		names = append(names, name)
	}
	slices.Sort(names)
	const most = 20
	if len(names) > most {
		names = append(names[:most], "…")
	}
	hint := ""
	if c.undirected > 0 {
		hint = "; it does not say the direction of its packets (pcapng's epb_flags and Linux cooked captures do)"
	}
	return exit.Wrongf("%s: none of its packets is of %q; its interfaces: %s%s", r.source.path, c.String(), strings.Join(names, ", "), hint)
}

// Chosen reports whether packets were chosen, and how many there were in all.
func (r *Reader) Chosen() (all uint64, chosen bool) { return r.read, r.chooser != nil }
