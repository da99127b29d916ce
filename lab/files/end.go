package files

import (
	"context"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/running"
)

// end is the host or a node. Paths in a node begin at its /.
type end interface {
	// kind is what a path leads to.
	kind(ctx context.Context, path string) (kind, error)
	// pack writes a file, or a folder with all that is in it, as a tar stream, whose first name has one element.
	pack(ctx context.Context, out io.Writer, path string) error
	// unpack reads a tar stream into a folder.
	unpack(ctx context.Context, in io.Reader, folder string) error
}

// kind is what a path leads to, behind all symbolic links.
type kind int

const (
	nothing kind = iota
	file
	folder
)

// Path is a path of the host, or of a node if it names one.
type Path struct{ Node, Path string }

// PathOf reads NODE:PATH, or a path of the host: one without a colon, or with a slash before it, as in ./a:b.
func PathOf(text string) (Path, error) {
	node, path, found := strings.Cut(text, ":")
	if strings.Contains(node, "/") || !found {
		if text == "" {
			return Path{}, exit.Wrongf("the path is empty; write NODE:PATH, or a path of the host")
		}
		return Path{"", text}, nil
	}
	if node == "" || path == "" {
		return Path{}, exit.Wrongf("%q has no node or no path; write NODE:PATH, or ./%[1]s for a file of the host", text)
	}
	return Path{node, path}, nil
}

// endOf is the end that a path is at, and the path there.
func endOf(l *running.Lab, p Path, skipped func(string)) (end, string, error) {
	if p.Node == "" {
		return tree{skipped: skipped, open: func(path string, flags int) (*os.File, error) {
			return os.OpenFile(path, flags, 0)
		}}, p.Path, nil
	}
	path := "/" + strings.TrimLeft(p.Path, "/")
	n, r, err := l.Node(p.Node)
	if err != nil {
		return nil, "", err
	}
	if !l.Alive(p.Node) {
		return nil, "", exit.Wrongf("node %q does not run; 'nines start %s' starts it", p.Node, p.Node)
	}
	if n.Apart() {
		return guest{l, p.Node}, path, nil
	}
	return tree{skipped: skipped, open: func(path string, flags int) (*os.File, error) {
		return node.OpenInside(r.PID, path, flags)
	}}, path, nil
}

// look opens a path without opening what it leads to, for stat(2) or openat(2).
const look = unix.O_PATH | unix.O_CLOEXEC
