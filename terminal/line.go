package terminal

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Line is the last line of a terminal, which shows what is under way until it is cleared. It needs no
// escape sequence, which a terminal might not know or a user might not want. Only one goroutine at a
// time may use it. The zero value is not drawn.
type Line struct {
	columns int // that it takes
}

// Draw shows a text in place of the one before, cut to the terminal's width.
func (l *Line) Draw(out io.Writer, s Style, text string) {
	text = Cut(Plain(text), max(s.Columns-1, 10))
	l.Clear(out)
	fmt.Fprint(out, s.Paint(Dim, text))
	l.columns = utf8.RuneCountInString(text)
}

// Clear leaves the cursor at the begin of an empty line.
func (l *Line) Clear(out io.Writer) {
	if l.columns > 0 {
		fmt.Fprint(out, "\r"+strings.Repeat(" ", l.columns)+"\r")
		l.columns = 0
	}
}
