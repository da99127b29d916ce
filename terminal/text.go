package terminal

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Plain keeps what a terminal would act on out of a text: names come from files that
// others may have written. That is control characters, and those that turn the direction
// of writing.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, text)
}

// Cut shortens text to so many characters.
func Cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// Wrap breaks text at its blanks into lines of so many columns. The first line begins
// behind what is there already, the others are indented.
func Wrap(text string, there, indent, columns int) string {
	var out strings.Builder
	columns = max(columns, indent+20) // a line has to hold something
	at := there
	for i, word := range strings.Fields(text) {
		length := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case at+1+length > columns:
			out.WriteString("\n" + strings.Repeat(" ", indent))
			at = indent
		default:
			out.WriteString(" ")
			at++
		}
		out.WriteString(word)
		at += length
	}
	return out.String()
}
