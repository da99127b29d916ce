package jitter

import (
	"fmt"
	"os"
	"path/filepath"

	"nines.dev/nines/kernel/replace"
)

// Store keeps the last check from before the host was tuned, and the last of all, in a folder that
// survives a reboot, which boot parameters need.
type Store struct{ Dir string }

func (s Store) before() string { return filepath.Join(s.Dir, "check-before.json") }
func (s Store) last() string   { return filepath.Join(s.Dir, "check.json") }

// Before returns the last check of the untuned host; nil if there is none.
func (s Store) Before() (*Check, error) {
	return replace.ReadIfThere[*Check](s.before())
}

// Keep stores a check; untuned is true if no profile was in force.
func (s Store) Keep(c Check, untuned bool) error {
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return fmt.Errorf("remember the check: %w", err)
	}
	paths := []string{s.last()}
	if untuned {
		paths = append(paths, s.before())
	}
	for _, path := range paths {
		if err := replace.JSON(path, c, 0o644); err != nil {
			return fmt.Errorf("remember the check: %w", err)
		}
	}
	return nil
}
