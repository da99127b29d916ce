package service

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"nines.dev/nines/lab/node"
)

// mostOutput is how much of a service's output is kept: the newest, in two files of this size.
const mostOutput = 8 << 20

// longestLine is how much of a line is looked at for a text.
const longestLine = 64 << 10

// output keeps what a service writes, and looks for a text in its lines.
type output struct {
	lock    sync.Mutex
	path    string
	file    *os.File
	written int64
	lost    int64
	tail    node.Tail
	// sought is the text, and line the last line so far; seen is true once a line has had it.
	sought []byte
	line   []byte
	seen   bool
}

// openOutput begins a log; that of the service's last start is kept beside it.
func openOutput(path, sought string) (*output, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	if err := node.PutAside(path); err != nil {
		return nil, err
	}
	o := &output{path: path, sought: []byte(sought)}
	return o, o.turn()
}

// turn puts the log aside and begins another.
func (o *output) turn() error {
	if o.file != nil {
		_ = o.file.Close() // its content is written
	}
	if before, err := os.Stat(node.OlderLog(o.path)); err == nil {
		o.lost += before.Size()
		if err := node.NoteLost(o.path, o.lost); err != nil {
			return err
		}
	}
	if err := os.Rename(o.path, node.OlderLog(o.path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var err error
	o.written = 0
	o.file, err = os.OpenFile(o.path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o644)
	return err
}

// Write never fails: a full disk loses the log, and not the service.
func (o *output) Write(text []byte) (int, error) {
	o.lock.Lock()
	defer o.lock.Unlock()
	_, _ = o.tail.Write(text)
	o.seek(text)
	if o.written+int64(len(text)) > mostOutput {
		if err := o.turn(); err != nil {
			return len(text), nil
		}
	}
	n, _ := o.file.Write(text)
	o.written += int64(n)
	return len(text), nil
}

func (o *output) seek(text []byte) {
	if o.seen || len(o.sought) == 0 {
		return
	}
	o.line = append(o.line, text...)
	if bytes.Contains(o.line, o.sought) {
		o.seen, o.line = true, nil
		return
	}
	if end := bytes.LastIndexByte(o.line, '\n'); end >= 0 {
		o.line = o.line[end+1:]
	}
	o.line = bytes.Clone(o.line[max(0, len(o.line)-longestLine):])
}

// found is true once a line has had the text.
func (o *output) found() bool {
	o.lock.Lock()
	defer o.lock.Unlock()
	return o.seen
}

// again continues with what another run writes.
func (o *output) again() {
	o.lock.Lock()
	defer o.lock.Unlock()
	o.seen, o.line, o.tail = false, nil, nil
}

// said is the end of the output, as one line.
func (o *output) said() string {
	o.lock.Lock()
	defer o.lock.Unlock()
	return o.tail.Line()
}
