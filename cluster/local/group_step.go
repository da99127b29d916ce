package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// groupStep is one thing to do in the file system of control groups.
type groupStep struct {
	do groupAction
	// path is the group's folder, or a file in it.
	path string
	// value is what is written.
	value string
}

// groupAction is what a groupStep does.
type groupAction string

const (
	// makeGroup makes a group, unless it is there: nodes share the cluster's.
	makeGroup groupAction = "make"
	// inheritFile gives a file the text that it has in the group above.
	inheritFile groupAction = "inherit"
	// writeFile writes the value into a file.
	writeFile groupAction = "write"
)

// String is the step in words.
func (s groupStep) String() string {
	if s.do == writeFile {
		return fmt.Sprintf("write %q to %s", s.value, s.path)
	}
	return string(s.do) + " " + s.path
}

func (s groupStep) take() error {
	var err error
	switch s.do {
	case makeGroup:
		if err = os.Mkdir(s.path, 0o755); errors.Is(err, fs.ErrExist) {
			err = nil
		}
	case inheritFile:
		var text []byte
		folder, name := filepath.Split(s.path)
		if text, err = os.ReadFile(filepath.Join(folder, "..", name)); err == nil {
			err = os.WriteFile(s.path, text, 0)
		}
	case writeFile:
		err = os.WriteFile(s.path, []byte(s.value), 0)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s, err)
	}
	return nil
}
