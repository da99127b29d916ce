package packetfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"nines.dev/nines/exit"
)

// Expand returns the files that a pattern names, as a shell would, or the path itself.
func Expand(pattern string) ([]string, error) {
	if _, err := os.Lstat(pattern); err == nil || !strings.ContainsAny(pattern, "*?[") {
		return []string{pattern}, nil
	}
	paths, err := filepath.Glob(pattern)
	if err == nil && len(paths) == 0 {
		err = errors.New("no file has such a name")
	}
	if err != nil {
		return nil, exit.Wrongf("%s: %w", pattern, err)
	}
	return paths, nil
}

// OpenSeries opens the files of one capture, such as tcpdump -C and dumpcap -b write, in the order of
// their first packets. They are read as if they had been appended to each other.
func OpenSeries(paths []string, moonSniff bool) (*Reader, error) {
	type part struct {
		path    string
		firstNs int64
	}
	var parts []part
	for _, path := range paths {
		if len(paths) == 1 { // nothing to order
			return open(path, moonSniff)
		}
		ns, err := firstTime(path, moonSniff)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part{path, ns})
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(a.firstNs, b.firstNs) })
	var ordered []string
	for _, p := range parts {
		ordered = append(ordered, p.path)
	}
	r, err := open(ordered[0], moonSniff)
	if err == nil {
		err = r.follow(ordered[1:])
	}
	return r, err
}

// firstTime is that of the first packet with a time.
func firstTime(path string, moonSniff bool) (ns int64, err error) {
	r, err := open(path, moonSniff)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		p, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return 0, nil // without packets, its place does not matter
		case err != nil:
			return 0, err
		case p.TimeNs != NoTime:
			return p.TimeNs, nil
		}
	}
}

// parts are the files of a series.
type parts struct {
	first *source
	rest  []string // not read yet
	all   []string // but the first
	// size is that of all files, and before of those that have been read.
	size, before int64
	damages      []*Damage
	remarks      []Remark
}

// follow adds the files that come after the one that is open.
func (r *Reader) follow(paths []string) error {
	r.parts = &parts{first: r.source, rest: paths, all: paths, size: r.source.size}
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil {
			return errors.Join(fmt.Errorf("open the capture: %w", err), r.Close())
		}
		r.parts.size += info.Size()
	}
	return nil
}

// next continues with the next file of a series; false if there is none, or it cannot be read.
func (r *Reader) next() bool {
	p := r.parts
	if p == nil || r.source.raw.err != nil {
		return false
	}
	if r.leave(); len(p.rest) == 0 {
		return false
	}
	var s *source
	if s, r.failure = openSource(p.rest[0]); r.failure != nil {
		return false
	}
	if r.source != p.first {
		r.failure = r.source.close()
	}
	p.before += r.source.size
	p.rest, r.source, r.damage = p.rest[1:], s, nil
	if r.failure == nil {
		r.failure = r.beginFile()
	}
	return r.failure == nil
}

// leave keeps what is to be said of a file of the series that has been read.
func (r *Reader) leave() {
	if d := r.damage; d != nil {
		d.File = r.source.path
		r.parts.damages = append(r.parts.damages, d)
	}
	for _, remark := range r.remarksOfFile() {
		remark.Text = "in " + r.source.path + ", " + remark.Text
		r.parts.remarks = append(r.parts.remarks, remark)
	}
}

// again goes back to the first file.
func (r *Reader) again() (err error) {
	p := r.parts
	if p == nil {
		return nil
	}
	if r.source != p.first {
		err = r.source.close()
	}
	r.source, p.rest, p.before, p.damages, p.remarks = p.first, p.all, 0, nil, nil
	return err
}
