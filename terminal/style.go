package terminal

import (
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// Columns is the width if the output is no terminal.
const Columns = 100

// Style says how to write to an output. The zero value has no colour and lines of any length.
type Style struct {
	// Terminal is true for one on which a line can be drawn over.
	Terminal bool
	Colour   bool
	Columns  int
}

// StyleOf returns the style for w. Colour is for terminals only, and off if NO_COLOR is set and not
// empty (no-color.org). If TERM is dumb, the terminal only adds text, as a file does (terminfo(5)).
func StyleOf(w io.Writer) Style {
	plain := Style{Columns: Columns}
	file, ok := w.(*os.File)
	if !ok {
		return plain
	}
	columns, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return plain
	}
	s := Style{Terminal: os.Getenv("TERM") != "dumb", Columns: columns}
	if s.Columns == 0 { // a terminal that does not report its size
		s.Columns = Columns
	}
	s.Colour = s.Terminal && os.Getenv("NO_COLOR") == ""
	return s
}

// The colours of ECMA-48's "select graphic rendition", from the terminal's own palette.
const (
	Bold   = "1"
	Dim    = "2"
	Red    = "31"
	Green  = "32"
	Yellow = "33"
)

// Paint colours text, if the output has colour.
func (s Style) Paint(colour, text string) string {
	if !s.Colour || colour == "" || text == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

// UTF8 is false if the user's locale has another encoding. One that is not set has UTF-8, as all other output does.
func UTF8() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} { // in this order (locale(7))
		if locale := os.Getenv(name); locale != "" {
			encoding := strings.ToLower(strings.ReplaceAll(locale, "-", ""))
			return strings.Contains(encoding, "utf8")
		}
	}
	return true
}
