package expect

import "fmt"

// Error is a mistake in an expectation.
type Error struct {
	// At is how many bytes stand before it.
	At      int
	Problem string
	// Word is a word that is not known, and Known are those that are, for who looks for the nearest.
	Word  string
	Known []string
	// Remedy says what to write instead.
	Remedy string
}

// Error says what is wrong, and where.
func (e *Error) Error() string {
	text := fmt.Sprintf("column %d: %s", e.At+1, e.Problem)
	if e.Remedy != "" {
		text += "; " + e.Remedy
	}
	return text
}
