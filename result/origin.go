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

func (w *Writer) writeOrigin(path string) error { return w.writeJSON(OriginFile, origin{path}) }

// ReadOrigin reads where a result's experiment file was written; empty if that is not known.
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
