package node

import (
	"slices"
	"strings"
)

// mostSaid is how much of a failed check's output is kept, in bytes.
const mostSaid = 400

// Tail keeps the last bytes that are written to it, however many there are.
type Tail []byte

// Write never fails.
func (t *Tail) Write(text []byte) (int, error) {
	*t = append(*t, text[max(0, len(text)-mostSaid):]...)
	*t = slices.Clone((*t)[max(0, len(*t)-mostSaid):])
	return len(text), nil
}

// Line is what it keeps, as one line.
func (t *Tail) Line() string {
	return strings.Join(strings.Fields(strings.ToValidUTF8(string(*t), "?")), " ")
}
