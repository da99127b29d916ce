package spec

import (
	"fmt"
	"hash/crc32"
	"reflect"
	"slices"
	"strings"
)

// Duet compares two variants of the network, a and b, which stand side by side and get packets in turn.
type Duet struct {
	// For is how long packets are sent at most, in place of the traffic's duration (default 20s).
	For Duration `yaml:"for,omitempty" json:"for,omitempty"`
	// Least is the least difference that matters: below both of its values the sides count as the same.
	Least *Least `yaml:"least,omitempty" json:"least,omitempty"`
	// Ask is what has to be decided; the measurement ends as soon as it is (default p50 and undisturbed p99).
	Ask []string `yaml:"ask,omitempty" json:"ask,omitempty"`
	// Expect is what the file expects of the sides. The measurement goes on until that is decided, too.
	Expect []string `yaml:"-" json:"-"`
	// Replaced are the file's addresses that side b cannot have.
	Replaced []Replaced `yaml:"-" json:"-"`
	// ReplacedMACs are the file's MAC addresses that side b cannot have.
	ReplacedMACs []Replaced `yaml:"-" json:"-"`
	// Sides are a and b, as they are built.
	Sides [2]Side `yaml:"-" json:"sides"`
}

// Least is the least difference that matters: the larger of the two.
type Least struct {
	// Share is a fraction of the percentile of side a (default 0.01).
	Share float64 `yaml:"share,omitempty" json:"share,omitempty"`
	// Latency is a time (default 20ns).
	Latency Duration `yaml:"latency,omitempty" json:"latency,omitempty"`
}

// Replaced is what the file lists for an interface, and side b of a duet cannot have beside side a: the plan gives it
// another.
type Replaced struct {
	// Endpoint is the interface on side b, as "node:interface".
	Endpoint string `yaml:"-"`
	// Values are the file's addresses, or its MAC address.
	Values []string `yaml:"-"`
}

// Side is one of the two variants of a duet.
type Side struct {
	Name string `json:"name"`
	// Label is what a reader calls the side: the value that differs, such as "veth", where one does; else "side a".
	Label string `json:"label"`
	// Settings are what the file sets for this side.
	Settings []Variable `json:"settings,omitempty"`
	// Work is that of the forwarders which serve both sides, by node.
	Work map[string]Duration `json:"work,omitempty"`
	// Traffic is the side's stream, from and to its own interfaces.
	Traffic Traffic `json:"traffic"`
}

// The names of a duet's sides.
const (
	SideA = "a"
	SideB = "b"
)

// defaultAsk is what a duet decides.
var defaultAsk = []string{"p50", "undisturbed p99"}

// askPattern is the form of what a duet decides.
const (
	askPattern = `^((undisturbed )?p(50|90|99|99\.9)|loss)$`
	askForm    = `p50, p90, p99 or p99.9, each also as "undisturbed p99", or "loss"`
)

// Asks lists all that a duet can decide.
func Asks() []string {
	var asks []string
	for _, percentile := range []string{"p50", "p90", "p99", "p99.9"} {
		asks = append(asks, percentile, "undisturbed "+percentile)
	}
	return append(asks, "loss")
}

// sideMark is between a name and its side: no name in a file has it.
const sideMark = "@"

// OnSide is the name of what a side of a duet has for itself: dut@a.
func OnSide(name, side string) string { return name + sideMark + side }

// SideOf splits such a name; side is empty for what both sides share, and without a duet.
func SideOf(name string) (plain, side string) {
	plain, side, _ = strings.Cut(name, sideMark)
	return plain, side
}

// maxSidedName is the longest name of an interface that a mark and a side fit behind (IFNAMSIZ - 1 is 15).
const maxSidedName = 15 - len(sideMark) - 1

// interfaceOnSide is OnSide for an interface: a long name is cut, and ends with a checksum of the whole.
func interfaceOnSide(name, side string) string {
	if len(name) > maxSidedName {
		sum := fmt.Sprintf("-%04x", uint16(crc32.ChecksumIEEE([]byte(name))))
		name = name[:maxSidedName-len(sum)] + sum
	}
	return OnSide(name, side)
}

// SettingsText lists what a side sets: "links.*.kind=veth", or that it is the file as it is.
func (s Side) SettingsText() string {
	if len(s.Settings) == 0 {
		return "the file as it is"
	}
	texts := make([]string, len(s.Settings))
	for i, v := range s.Settings {
		texts[i] = v.Path + "=" + v.Text
	}
	return strings.Join(texts, ", ")
}

// filled is the duet with the defaults that the rules cannot express, and with what the file expects of the sides: that is
// asked, too, and in place of the default.
func (d Duet) filled(expected []Expected, errs *collector) *Duet {
	d.Ask = slices.Clone(d.Ask)
	for _, one := range expected {
		d.Expect = append(d.Expect, one.Text)
		if name := one.Subject.Name(); !one.IsFact() && !slices.Contains(d.Ask, name) {
			d.Ask = append(d.Ask, name)
		}
	}
	if len(d.Ask) == 0 {
		d.Ask = slices.Clone(defaultAsk)
	}
	if d.Least == nil {
		d.Least = &Least{}
		decoder{errs}.value(&node{kind: mapping}, reflect.ValueOf(d.Least).Elem(), "duet.least", rule{}) // the rules' defaults
	}
	return &d
}

// meaning describes the duet for a reader.
func (d *Duet) meaning() *DuetMeaning {
	return &DuetMeaning{A: d.Sides[0].SettingsText(), B: d.Sides[1].SettingsText(), Ask: d.Ask, For: d.For}
}
