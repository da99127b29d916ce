package report

import (
	"io"
	"os"

	"golang.org/x/term"

	"nines.dev/nines/result"
)

// defaultColumns is the width where the output is no terminal.
const defaultColumns = 100

// style is how an output may be written to.
type style struct {
	terminal bool
	colour   bool
	columns  int
}

// styleOf looks at what w is. Colour is for terminals only, and not where
// NO_COLOR is set (no-color.org) or TERM is dumb.
func styleOf(w io.Writer) style {
	plain := style{columns: defaultColumns}
	file, ok := w.(*os.File)
	if !ok {
		return plain
	}
	columns, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return plain
	}
	s := style{terminal: true, columns: columns}
	if s.columns == 0 { // a terminal that does not know its size
		s.columns = defaultColumns
	}
	s.colour = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	return s
}

// The colours of ECMA-48's "select graphic rendition", from the terminal's own palette.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

func (s style) paint(colour, text string) string {
	if !s.colour || colour == "" || text == "" {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

func verdictColour(v result.Verdict) string {
	switch v {
	case result.Clean:
		return green
	case result.Noisy:
		return yellow
	}
	return red
}
