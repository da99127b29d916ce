package graph

import (
	"strings"
	"unicode/utf8"
)

// sheet is a drawing of characters, which grows as it is drawn on.
type sheet struct{ rows [][]cell }

// cell is one character: text, or the strokes that meet in it.
type cell struct {
	text rune
	// strokes go up, right, down and left from the middle of the cell: 0 is none, then the weights.
	strokes [4]int
}

// The directions of strokes.
const (
	up = iota
	right
	down
	left
)

// weight is how a line is drawn.
type weight int

const (
	light weight = 1
	heavy weight = 2
)

// strokeRunes has the character for each meeting of strokes: the weight upwards times 27, plus that to the right times
// 9, downwards times 3, and to the left (Unicode's block Box Drawing).
var strokeRunes = []rune(" ╴╸╷┐┑╻┒┓╶─╾┌┬┭┎┰┱╺╼━┍┮┯┏┲┳╵┘┙│┤┥╽┧┪└┴┵├┼┽┟╁╅┕┶┷┝┾┿┢╆╈╹┚┛╿┦┩┃┨┫┖┸┹┞╀╃┠╂╉┗┺┻┡╄╇┣╊╋")

func (s *sheet) at(x, y int) *cell {
	for len(s.rows) <= y {
		s.rows = append(s.rows, nil)
	}
	for len(s.rows[y]) <= x {
		s.rows[y] = append(s.rows[y], cell{})
	}
	return &s.rows[y][x]
}

// across draws a line from the middle of one cell of a row to that of another.
func (s *sheet) across(x1, x2, y int, w weight) {
	for x := min(x1, x2); x < max(x1, x2); x++ {
		s.stroke(x, y, right, w)
		s.stroke(x+1, y, left, w)
	}
}

// along draws a line in a column.
func (s *sheet) along(x, y1, y2 int, w weight) {
	for y := min(y1, y2); y < max(y1, y2); y++ {
		s.stroke(x, y, down, w)
		s.stroke(x, y+1, up, w)
	}
}

func (s *sheet) stroke(x, y, direction int, w weight) {
	c := s.at(x, y)
	c.strokes[direction] = max(c.strokes[direction], int(w))
}

// box draws a frame.
func (s *sheet) box(x, y, width, height int) {
	s.across(x, x+width-1, y, light)
	s.across(x, x+width-1, y+height-1, light)
	s.along(x, y, y+height-1, light)
	s.along(x+width-1, y, y+height-1, light)
}

// write writes text over what is drawn.
func (s *sheet) write(x, y int, text string) {
	for _, r := range text {
		s.at(x, y).text = r
		x++
	}
}

// String is the drawing, without blanks at the ends of lines. Without UTF-8 it has only characters of ASCII.
func (s *sheet) text(ascii bool) string {
	var b strings.Builder
	for _, row := range s.rows {
		var line strings.Builder
		for _, c := range row {
			line.WriteRune(c.rune(ascii))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

func (c cell) rune(ascii bool) rune {
	if c.text != 0 {
		if ascii && c.text >= utf8.RuneSelf {
			return '?'
		}
		return c.text
	}
	s := c.strokes
	if !ascii {
		return strokeRunes[27*s[up]+9*s[right]+3*s[down]+s[left]]
	}
	flat, steep := max(s[left], s[right]), max(s[up], s[down])
	switch {
	case flat > 0 && steep > 0:
		return '+'
	case flat == int(heavy):
		return '='
	case flat > 0:
		return '-'
	case steep == int(heavy):
		return '#'
	case steep > 0:
		return '|'
	}
	return ' '
}
