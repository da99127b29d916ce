package device

import (
	"bytes"
	"fmt"
	"os"

	"nines.dev/nines/kernel/replace"
)

// Install puts a program where container runtimes look for CNI plugins, and replaces an older one. A running
// call keeps the old program. If the same program is already there, nothing changes.
func Install(program, path string) error {
	text, err := os.ReadFile(program)
	if err != nil {
		return fmt.Errorf("read the CNI plugin: %w", err)
	}
	if now, err := os.ReadFile(path); err == nil && bytes.Equal(now, text) {
		return nil
	}
	if err := replace.File(path, text, 0o755); err != nil {
		return fmt.Errorf("install the CNI plugin: %w", err)
	}
	return nil
}
