package service

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/running"
)

// mostSaid is how much of a service's output Listener.Take returns: the newest.
const mostSaid = 256 << 10

// Listener takes what services write, bit by bit. Its zero value begins with their starts.
type Listener struct {
	at map[string]place
}

// place is how far a log was read.
type place struct {
	inode  uint64
	offset int64
}

// Take returns what the services of a lab have written since the last call, each under a line that names it; nil if
// that is nothing.
func (l *Listener) Take(of *running.Lab) ([]byte, error) {
	all, err := All(of)
	if err != nil {
		return nil, err
	}
	var said bytes.Buffer
	for _, s := range all {
		text, err := l.take(s.Log)
		if err != nil {
			return nil, fmt.Errorf("read the output of service %s of node %q: %w", s.Name, s.Node, err)
		}
		if len(text) > 0 {
			fmt.Fprintf(&said, "== node %s, service %s\n%s", s.Node, s.Name, text)
			if text[len(text)-1] != '\n' {
				said.WriteByte('\n')
			}
		}
	}
	return said.Bytes(), nil
}

// take returns what is new in a log: the rest of the file that was read before, if that is the older one now, and the log.
// A file that is neither has been put aside by a start since then, and with it what was not read of it.
func (l *Listener) take(path string) ([]byte, error) {
	var text []byte
	for _, one := range []string{node.OlderLog(path), path} {
		file, err := os.Open(one)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		now, more, err := readFrom(file, l.at[path], one == path)
		_ = file.Close() // it was read
		if err != nil {
			return nil, err
		}
		text = append(text, more...)
		if one == path {
			if l.at == nil {
				l.at = map[string]place{}
			}
			l.at[path] = now
		}
	}
	if left := len(text) - mostSaid; left > 0 {
		text = append(fmt.Appendf(nil, "… %d bytes before\n", left), text[left:]...)
	}
	return text, nil
}

// readFrom reads the end of a file, from where it was read before. Of a file that was not read before it reads all, if
// it is the log.
func readFrom(file *os.File, before place, isLog bool) (place, []byte, error) {
	info, err := file.Stat()
	if err != nil {
		return place{}, nil, err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return place{}, nil, fmt.Errorf("%s has no inode", file.Name())
	}
	from := int64(0)
	same := stat.Ino == before.inode && info.Size() >= before.offset
	switch {
	case same:
		from = before.offset
	case !isLog && before != (place{}):
		return place{}, nil, nil
	}
	text, err := io.ReadAll(io.NewSectionReader(file, from, info.Size()-from))
	return place{stat.Ino, from + int64(len(text))}, text, err
}
