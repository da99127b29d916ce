package packetfile

import (
	"fmt"

	"nines.dev/nines/terminal"
)

// Damage says where and why reading stopped before the end of a file.
type Damage struct {
	// Packets is the number of packets read before the damage.
	Packets uint64
	// Offset is where the damaged part begins, in bytes of the capture (uncompressed).
	Offset int64
	// LostBytes is how much of the file from Offset on was not used; -1 if unknown, as in a
	// compressed file.
	LostBytes int64
	// Reason says what is wrong there.
	Reason string
	// Remedy says what to do about it; empty if only a new capture helps.
	Remedy string
	// File is the damaged one of several files, and Further how many others are damaged.
	File    string
	Further int
}

// String describes the damage in a sentence or two.
func (d *Damage) String() string {
	lost := "how much was lost cannot be known"
	if d.LostBytes >= 0 {
		lost = plural(d.LostBytes, "1 byte was", terminal.Grouped(uint64(d.LostBytes))+" bytes were") + " not used"
	}
	s := fmt.Sprintf("%s at byte %s, after %s packets, which are used; %s", d.Reason, terminal.Grouped(uint64(d.Offset)), terminal.Grouped(d.Packets), lost)
	if d.Remedy != "" {
		s += "; " + d.Remedy
	}
	if d.File != "" {
		s = "in " + d.File + ", " + s
	}
	if d.Further > 0 {
		s += fmt.Sprintf("; %d further files are damaged", d.Further)
	}
	return s
}

func plural(n int64, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
