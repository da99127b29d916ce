package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// origin is OriginFile.
type origin struct {
	// Experiment is the absolute path of the experiment file, to whose folder its relative paths belong.
	Experiment string `json:"experiment"`
}

// WriteOrigin stores the path of the experiment file.
func (w *Writer) WriteOrigin(path string) error { return w.writeJSON(OriginFile, origin{path}) }

// ReadOrigin reads what WriteOrigin stored in a result folder; empty if it has no such file.
func ReadOrigin(dir string) (string, error) {
	text, err := readPlain(filepath.Join(dir, OriginFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("%s cannot be read: %w", filepath.Join(dir, OriginFile), err)
	}
	var read origin
	if err := json.Unmarshal(text, &read); err != nil {
		return "", brokenJSON(dir, OriginFile, text, err)
	}
	return read.Experiment, nil
}
