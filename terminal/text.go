package terminal

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Plain removes what a terminal would act on: names come from files that others may have written.
// It drops control characters and characters that change the writing direction.
func Plain(text string) string {
	return strings.Map(plainRune, text)
}

func plainRune(r rune) rune {
	if unicode.IsPrint(r) {
		return r
	}
	return '?'
}

// PlainLines is Plain for text of several lines, whose ends and tabs stay.
func PlainLines(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return plainRune(r)
	}, text)
}

// Cut shortens text to at most so many characters.
func Cut(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// Wrap breaks text at blanks into lines of at most columns. The first line starts after there
// columns, the others are indented. Like Plain, it leaves nothing that a terminal would act on.
func Wrap(text string, there, indent, columns int) string {
	var out strings.Builder
	columns = max(columns, indent+20) // a line has to hold something
	at := there
	for i, word := range strings.Fields(PlainLines(text)) {
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
