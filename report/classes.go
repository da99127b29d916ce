package report

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"nines.dev/nines/terminal"
)

// maxReasons is the most lines below a table.
const maxReasons = 6

// class is a number of texts that differ only in their numbers.
type class struct {
	head, colour string // of the line
	// example is the first such text, and where its subject.
	example, where string
	count          int
}

// classes are ordered by their first texts.
type classes struct {
	list []*class
	by   map[string]*class
}

// add counts a text in its class, given by key and the words that are not numbers. For a new class
// it adds one.
func (c *classes) add(key string, one class) *class {
	key += "\x00" + withoutNumbers(one.example)
	if c.by[key] == nil {
		if c.by == nil {
			c.by = map[string]*class{}
		}
		c.by[key] = &one
		c.list = append(c.list, &one)
	}
	c.by[key].count++
	return c.by[key]
}

// write writes a line per class, up to a limit, and says how many more there are and where. things
// names what is counted, such as trials.
func (c *classes) write(out *strings.Builder, s terminal.Style, things, kind, all string) {
	for i, one := range c.list {
		if i == maxReasons {
			fmt.Fprintf(out, "and %s of %s more; %s\n", terminal.Count(len(c.list)-i, "kind"), kind, all)
			return
		}
		text := one.example
		if one.where != "" {
			text = one.where + ": " + text
		}
		if one.count > 1 {
			text = fmt.Sprintf("%s, such as %s", terminal.Count(one.count, things), text)
		}
		indent := utf8.RuneCountInString(one.head) + 2
		out.WriteString(s.Paint(one.colour, one.head) + "  " + terminal.Wrap(terminal.Plain(text), indent, indent, s.Columns) + "\n")
	}
}

// withoutNumbers makes texts that differ only in their figures equal.
func withoutNumbers(text string) string {
	words := strings.Fields(text)
	for i, word := range words {
		if strings.ContainsAny(word, "0123456789") {
			words[i] = "#"
		}
	}
	return strings.Join(words, " ")
}
