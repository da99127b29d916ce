package report

import (
	"fmt"

	"nines.dev/nines/terminal"
)

// The lists below the table say what is in trials' details.json, which in someone else's result
// may be anything.
const (
	mostLines    = 60   // of a list
	mostLineText = 2000 // characters of a line's parts
)

// firstLines are the first lines of a list, each of another key. It holds no more, whatever it is
// given.
type firstLines[Key comparable, Line any] struct {
	lines []*Line
	of    map[Key]*Line
	// left is the number of trials with lines that had no room.
	left   int
	leftOf string // the last of them
}

// line finds a key's line, or makes it; nil if there is no room for it.
func (f *firstLines[Key, Line]) line(key Key, trial string) *Line {
	if line, found := f.of[key]; found {
		return line
	}
	if len(f.lines) == mostLines {
		if f.leftOf != trial {
			f.left, f.leftOf = f.left+1, trial
		}
		return nil
	}
	if f.of == nil {
		f.of = map[Key]*Line{}
	}
	line := new(Line)
	f.lines, f.of[key] = append(f.lines, line), line
	return line
}

// more says in how many trials there are other lines; it is empty if there are none.
func (f *firstLines[Key, Line]) more() string {
	if f.left == 0 {
		return ""
	}
	return fmt.Sprintf("  and others in %s, whose details.json has all\n", terminal.Count(f.left, "trial"))
}
