package terminal

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Cell is a table cell with a colour, which does not count for its width.
type Cell struct{ Text, Colour string }

// Table lays out rows in columns: words left-aligned, numbers right-aligned. Rows may differ in
// length. As in text/tabwriter, a column is as wide as its cells in consecutive rows that have it.
// A row's last cell does not widen a column of words, since nothing is aligned after it. The zero
// value is empty.
type Table struct {
	heads, units []Cell
	numbers      map[int]bool // by column
	rows         [][]Cell
}

// Words adds a column of words with a head.
func (t *Table) Words(head string) { t.column(head, "", false) }

// Numbers adds a column of numbers with a head and a unit, which may be empty.
func (t *Table) Numbers(head, unit string) { t.column(head, unit, true) }

func (t *Table) column(head, unit string, numbers bool) {
	if t.numbers == nil {
		t.numbers = map[int]bool{}
	}
	t.numbers[len(t.heads)] = numbers
	t.heads = append(t.heads, Cell{Plain(head), Bold})
	t.units = append(t.units, Cell{Plain(unit), Dim})
}

// Row adds a row of cells: a Cell as it is, anything else as fmt prints it. Without cells it adds a
// blank line. What a terminal would act on in a text becomes a question mark, as in Plain.
func (t *Table) Row(cells ...any) {
	row := make([]Cell, len(cells))
	for i, c := range cells {
		if cell, ok := c.(Cell); ok {
			row[i] = cell
		} else {
			row[i].Text = fmt.Sprint(c)
		}
		row[i].Text = Plain(row[i].Text)
	}
	t.rows = append(t.rows, row)
}

// Len returns the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// Write prints the table with two spaces between columns, or one if the output is too narrow. Lines
// have no trailing blanks, and a line of units without any is left out.
func (t *Table) Write(w io.Writer, s Style) error {
	lines := t.rows
	if len(t.heads) > 0 {
		heads := [][]Cell{t.heads}
		for _, unit := range t.units {
			if unit.Text != "" {
				heads = append(heads, t.units)
				break
			}
		}
		lines = append(heads, lines...)
	}
	widths, widest := t.widths(lines)
	gap := "  "
	if s.Columns > 0 && widest > s.Columns {
		gap = " "
	}
	for y, line := range lines {
		var text strings.Builder
		for x, c := range line {
			padding := strings.Repeat(" ", max(0, widths[y][x]-utf8.RuneCountInString(c.Text)))
			if x > 0 {
				text.WriteString(gap)
			}
			if t.numbers[x] {
				text.WriteString(padding + s.Paint(c.Colour, c.Text))
			} else {
				text.WriteString(s.Paint(c.Colour, c.Text) + padding)
			}
		}
		if _, err := io.WriteString(w, strings.TrimRight(text.String(), " ")+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// widths returns the cell widths of each line, and the width of the widest line.
func (t *Table) widths(lines [][]Cell) (widths [][]int, widest int) {
	widths = make([][]int, len(lines))
	columns := 0
	for y, line := range lines {
		widths[y] = make([]int, len(line))
		columns = max(columns, len(line))
	}
	for x := range columns {
		begin, width := 0, 0
		for y := 0; y <= len(lines); y++ {
			if y < len(lines) && (x < len(lines[y])-1 || t.numbers[x] && x < len(lines[y])) {
				width = max(width, utf8.RuneCountInString(lines[y][x].Text))
				continue
			}
			for ; begin < y; begin++ {
				widths[begin][x] = width
			}
			begin, width = y+1, 0
		}
	}
	for y, line := range lines {
		total := 2 * (len(line) - 1)
		for x, c := range line {
			total += max(widths[y][x], utf8.RuneCountInString(c.Text))
		}
		widest = max(widest, total)
	}
	return widths, widest
}
