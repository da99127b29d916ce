package jitter

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"nines.dev/nines/kernel/replace"
)

// Store remembers the last check from before the host was tuned, and the last of all, in
// a folder that outlives a reboot: boot parameters take one.
type Store struct{ Dir string }

func (s Store) before() string { return filepath.Join(s.Dir, "check-before.json") }
func (s Store) last() string   { return filepath.Join(s.Dir, "check.json") }

// Before gives the last check of the host as it was; nil if there is none.
func (s Store) Before() (*Check, error) {
	text, err := os.ReadFile(s.before())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the check of before: %w", err)
	}
	var c Check
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("read %s: %w", s.before(), err)
	}
	return &c, nil
}

// Keep remembers a check; untuned is true if nothing of nines tune was in force.
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
