package running

import (
	"errors"
	"io/fs"

	"nines.dev/nines/kernel/replace"
	"nines.dev/nines/lab/isolate"
)

// Isolation is the isolation that was in force when the lab came up.
func (l *Lab) Isolation() (isolate.State, error) {
	s, err := replace.Read[isolate.State](l.State().Isolation())
	if errors.Is(err, fs.ErrNotExist) {
		return isolate.Look(l.Plan()) // a lab without nodes, or of another version of nines
	}
	return s, err
}
