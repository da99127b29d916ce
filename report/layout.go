package report

import (
	"strings"
	"unicode/utf8"
)

// cell is a table's cell; its colour does not count for its width.
type cell struct{ text, colour string }

// table lays cells out in columns: numbers to the right, words to the left.
type table struct {
	heads, units []string
	words        []bool // by column
	rows         [][]cell
}

// column adds a column of numbers in a unit.
func (t *table) column(head, unit string) {
	t.heads = append(t.heads, head)
	t.units = append(t.units, unit)
	t.words = append(t.words, false)
}

// wordColumn adds a column of words.
func (t *table) wordColumn(head string) {
	t.column(head, "")
	t.words[len(t.words)-1] = true
}

// write lays the table out; a blank line of units is left away, and two spaces
// separate columns, or one where the terminal is too narrow.
func (t *table) write(out *strings.Builder, s style) {
	widths := make([]int, len(t.heads))
	lines := [][]cell{asCells(t.heads, bold)}
	if strings.Join(t.units, "") != "" {
		lines = append(lines, asCells(t.units, dim))
	}
	lines = append(lines, t.rows...)
	for _, line := range lines {
		for i, c := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(c.text))
		}
	}
	gap, total := "  ", 0
	for _, width := range widths {
		total += width + 2
	}
	if total-2 > s.columns {
		gap = " "
	}
	for _, line := range lines {
		var text strings.Builder
		for i, c := range line {
			if i > 0 {
				text.WriteString(gap)
			}
			padding := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(c.text))
			switch {
			case !t.words[i]:
				text.WriteString(padding + s.paint(c.colour, c.text))
			case i == len(line)-1: // nothing to align with
				text.WriteString(s.paint(c.colour, c.text))
			default:
				text.WriteString(s.paint(c.colour, c.text) + padding)
			}
		}
		out.WriteString(strings.TrimRight(text.String(), " ") + "\n")
	}
}

func asCells(texts []string, colour string) []cell {
	cells := make([]cell, len(texts))
	for i, text := range texts {
		cells[i] = cell{text, colour}
	}
	return cells
}
