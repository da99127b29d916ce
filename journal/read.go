package journal

import (
	"bytes"
	"errors"
	"fmt"
)

// ErrEmpty means that the journal has no header: its creator died before it made anything.
var ErrEmpty = errors.New("the journal is empty")

// contents is what a journal's text says. It is pure.
type contents struct {
	header  Header
	entries map[int]*Entry
	nextID  int
	// number is that of the last line that can be read, and size the end of the last whole one.
	number int
	size   int64
	// ended is true if the last line says that an operation has ended.
	ended  bool
	damage []Damage
}

// parse reads all whole lines of a text; header is what the copy of the first line says, nil without one. What
// follows the last line's end was cut off by a crash, and its step was never made; or by another program.
func parse(text []byte, header *Header) (contents, error) {
	c := contents{nextID: 1, entries: map[int]*Entry{}}
	bad := 0 // lines that cannot be read, since the last one that can
	for place := 1; ; place++ {
		end := bytes.IndexByte(text[c.size:], '\n')
		if end < 0 {
			break
		}
		found := text[c.size : c.size+int64(end)]
		c.size += int64(end) + 1
		err := c.takeLine(place, found, header, &bad)
		if err != nil {
			bad++
			c.damage = append(c.damage, Damage{Line: place, Reason: err.Error(), Text: string(found)})
		}
	}
	c.ended = c.ended && c.size == int64(len(text))
	if c.header.Form == "" && header == nil {
		if len(c.damage) > 0 {
			return c, &DamagedError{Damage: c.damage[:1]}
		}
		return c, ErrEmpty
	}
	if c.header.Form == "" { // cut off before the end of the first line
		c.header, c.number = *header, 1
		c.damage = []Damage{{Line: 1, Reason: "it is missing"}}
	}
	return c, nil
}

func (c *contents) takeLine(place int, text []byte, header *Header, bad *int) error {
	if place == 1 {
		var err error
		if c.header, err = decodeHeader(text); err != nil && header != nil {
			c.header = *header
		}
		if err == nil {
			c.number = 1
		}
		return err
	}
	l, err := decodeLine(c.header.Form, text)
	if err != nil {
		c.ended = false
		return err
	}
	if c.header.Form != plainForm {
		if l.Number <= c.number {
			return fmt.Errorf("it is line %d, and stands after line %d", l.Number, c.number)
		}
		if lost := l.Number - c.number - 1 - *bad; lost > 0 {
			c.damage = append(c.damage, Damage{Line: place, Lost: lost})
		}
		c.number = l.Number
	}
	*bad = 0
	return c.take(place, l)
}

// take takes what a line says.
func (c *contents) take(place int, l line) error {
	c.ended = l.End
	switch {
	case l.Intent > 0:
		if l.Intent < c.nextID {
			return fmt.Errorf("step %d has begun before", l.Intent)
		}
		if l.Intent > c.nextID && c.header.Form == plainForm {
			c.damage = append(c.damage, Damage{Line: place, Lost: l.Intent - c.nextID})
		}
		c.entries[l.Intent] = &Entry{ID: l.Intent, Step: *l.Step}
		c.nextID = l.Intent + 1
	case l.Done > 0:
		entry := c.entries[l.Done]
		if entry != nil {
			entry.Learnt = l.Learnt
		} else if c.header.Form == plainForm && l.Done >= c.nextID {
			return fmt.Errorf("step %d never began", l.Done)
		}
	}
	for _, id := range l.Undone {
		delete(c.entries, id)
	}
	return nil
}
