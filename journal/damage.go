package journal

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// Damage is what is wrong with a journal in one place.
type Damage struct {
	// Line is the line in the file that cannot be read; or that before which Lost lines are missing.
	Line, Lost int
	Reason     string
	Text       string
}

// shownBytes is how much of a damaged line messages quote: it may hold the old value of a setting.
const shownBytes = 300

func (d Damage) String() string {
	switch {
	case d.Lost > 1:
		return fmt.Sprintf("%d lines are missing before line %d", d.Lost, d.Line)
	case d.Lost > 0:
		return fmt.Sprintf("a line is missing before line %d", d.Line)
	case d.Text == "":
		return fmt.Sprintf("line %d is damaged (%s)", d.Line, d.Reason)
	}
	text := d.Text
	if len(text) > shownBytes {
		text = text[:shownBytes] + "…"
	}
	printable := func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '�'
	}
	return fmt.Sprintf("line %d is damaged (%s): %s", d.Line, d.Reason, strings.Map(printable, text))
}

var readableKind = regexp.MustCompile(`"kind":"([^"]*)"`)

// kind is what the damaged line made, where that can still be read.
func (d Damage) kind() (Kind, bool) {
	if m := readableKind.FindStringSubmatch(d.Text); m != nil {
		_, known := registered[Kind(m[1])]
		return Kind(m[1]), known
	}
	return "", false
}

// DamagedError means that lines of a journal cannot be read or are missing, and that it was not a crash that cut
// off the last one.
type DamagedError struct {
	Path   string
	Damage []Damage
}

func (e *DamagedError) Error() string {
	remedy := "its undo (nines down, for a lab) undoes what the other lines prove, and searches for the rest"
	if len(e.Damage) > 0 && e.Damage[0].Line == 1 {
		remedy = "the first line names the lab: repair it, or reboot and remove the folder"
	}
	return fmt.Sprintf("%s: %s; %s", e.Path, describe(e.Damage), remedy)
}

// shownDamages is how many damages a message tells of.
const shownDamages = 5

func describe(damage []Damage) string {
	var parts []string
	for i, d := range damage {
		if i == shownDamages {
			parts = append(parts, fmt.Sprintf("and %d more", len(damage)-i))
			break
		}
		parts = append(parts, d.String())
	}
	return strings.Join(parts, "; ")
}
