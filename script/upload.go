package script

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"sync"
)

// Folder is where the output of one node in one phase goes. What is written there stays inside, and is
// bounded. The folder that it is made in says who may read it.
type Folder struct {
	root *os.Root
	mu   sync.Mutex
	left int64 // bytes
	// names are the uploads so far, in order, and have tells which these are.
	names []string
	have  map[string]bool
	// begun counts the uploads, for the names that they have until they are whole.
	begun int
}

// The files of a script's output, and the folder of its uploads.
const (
	StdoutFile    = "stdout"
	StderrFile    = "stderr"
	StatusFile    = "status"
	UploadsFolder = "uploads"
)

const (
	longestName = 200 // bytes
	mostUploads = 10_000
	deepestName = 8 // folders
)

// NewFolder makes a node's folder inside another, for at most this many bytes.
func NewFolder(in *os.Root, name string, limit int64) (*Folder, error) {
	if err := in.MkdirAll(path.Join(name, UploadsFolder), 0o755); err != nil {
		return nil, err
	}
	root, err := in.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return &Folder{root: root, left: limit, have: map[string]bool{}}, nil
}

// Close forgets the folder, whose files stay.
func (f *Folder) Close() error { return f.root.Close() }

// Uploads are the names of the files that were uploaded.
func (f *Folder) Uploads() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.names...)
}

// uploadName checks the name of an upload: a plain relative path that no tool that reads a result
// mistakes for anything else.
func uploadName(name string) error {
	wrong := func(why string) error {
		return fmt.Errorf("%q cannot be an upload's name: %s; name it with --name", name, why)
	}
	switch {
	case name == "":
		return wrong("it is empty")
	case len(name) > longestName:
		return wrong(fmt.Sprintf("it is longer than %d bytes", longestName))
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' || r == 0xfffd }):
		return wrong("it has a control character or a backslash")
	case path.Clean(name) != name || path.IsAbs(name):
		return wrong("it is not a relative path in its shortest form")
	}
	steps := strings.Split(name, "/")
	if len(steps) > deepestName {
		return wrong(fmt.Sprintf("it has more than %d folders", deepestName))
	}
	for _, step := range steps {
		if strings.HasPrefix(step, ".") || strings.HasPrefix(step, "-") {
			return wrong("one of its folders or its file begins with a dot or a dash")
		}
	}
	return nil
}

// Upload keeps a file of this many bytes. One with the same name is replaced.
func (f *Folder) Upload(name string, size int64, from io.Reader) error {
	if err := uploadName(name); err != nil {
		return err
	}
	if err := f.room(name); err != nil {
		return err
	}
	f.mu.Lock()
	left := f.left
	if size <= left {
		f.left -= size
	}
	f.begun++
	number := f.begun
	f.mu.Unlock()
	if size > left {
		return fmt.Errorf("%s has %d bytes, but only %d are left of the node's upload limit for this trial; raise scripts: {upload_limit: …}", name, size, left)
	}
	if err := f.write(path.Join(UploadsFolder, name), number, size, from); err != nil {
		f.mu.Lock()
		f.left += size
		f.mu.Unlock()
		return fmt.Errorf("%s: %w", name, err)
	}
	f.named(name)
	return nil
}

// room refuses names for which the list of uploads has no room. What replaces an upload needs none.
func (f *Folder) room(names ...string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	added := 0
	for _, name := range names {
		if !f.have[name] {
			added++
		}
	}
	if added > 0 && len(f.names)+added > mostUploads {
		return fmt.Errorf("%s: the node already has %d uploads, including the output of its commands; at most %d are allowed", names[0], len(f.names), mostUploads)
	}
	return nil
}

// named adds names to the uploads.
func (f *Folder) named(names ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, name := range names {
		if !f.have[name] {
			f.have[name] = true
			f.names = append(f.names, name)
		}
	}
}

// write writes a file under another name first, so that half an upload is not one. The number makes
// that name different for each of two uploads of one name.
func (f *Folder) write(to string, number int, size int64, from io.Reader) (err error) {
	if err := f.root.MkdirAll(path.Dir(to), 0o755); err != nil {
		return err
	}
	half := path.Join(path.Dir(to), fmt.Sprintf(".%s.%d.tmp", path.Base(to), number))
	defer func() {
		if err != nil {
			_ = f.root.Remove(half)
		}
	}()
	if err := f.root.Remove(half); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	file, err := f.root.OpenFile(half, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	written, err := io.Copy(file, io.LimitReader(from, size))
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if written != size {
		return fmt.Errorf("it ended after %d of %d bytes", written, size)
	}
	return f.root.Rename(half, to)
}

// Outputs makes the two files for the output of a process.
func (f *Folder) Outputs(stdout, stderr string) (out, complaints *Output, err error) {
	if out, err = f.output(stdout); err != nil {
		return nil, nil, err
	}
	if complaints, err = f.output(stderr); err != nil {
		return nil, nil, errors.Join(err, out.Close())
	}
	return out, complaints, nil
}

// output makes a file for the output of a process, which is cut where the node's limit ends.
func (f *Folder) output(name string) (*Output, error) {
	file, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, err
	}
	return &Output{folder: f, file: file}, nil
}

// WriteFile writes a small file of nines' own.
func (f *Folder) WriteFile(name, text string) error {
	return f.root.WriteFile(name, []byte(text), 0o644)
}

// lastBytes is how much of an output's end is kept for an error.
const lastBytes = 2 << 10

// Output is the output of a process: it takes everything, and keeps what fits.
type Output struct {
	folder *Folder
	file   *os.File

	mu   sync.Mutex
	last []byte
	cut  bool
	err  error
}

// Write never fails, since a script would die of it; Close tells.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.last = append(o.last, p...)
	o.last = o.last[max(0, len(o.last)-lastBytes):]
	o.folder.mu.Lock()
	fits := min(int64(len(p)), o.folder.left)
	o.folder.left -= fits
	o.folder.mu.Unlock()
	o.cut = o.cut || fits < int64(len(p))
	if o.err == nil && fits > 0 {
		_, o.err = o.file.Write(p[:fits])
	}
	return len(p), nil
}

// Last is the end of the output so far.
func (o *Output) Last() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(o.last)
}

// Cut is true where not all of it was kept.
func (o *Output) Cut() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.cut
}

// Close ends the file, and tells what could not be written.
func (o *Output) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return errors.Join(o.err, o.file.Close())
}
