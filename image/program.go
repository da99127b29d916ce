package image

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"nines.dev/nines/exit"
)

// openXZ runs xz, as Go's libraries for it take ten times as long.
func openXZ(text io.Reader, done func() error) (io.ReadCloser, error) {
	return openBy(decoder{
		program: "xz", arguments: []string{"--decompress", "--stdout", "--threads=1", "--memlimit-decompress=" + mostXZMemory},
		input: text, reason: "the image is compressed by xz", packages: "xz-utils",
		explain: func(failed error, said []byte) error {
			if bytes.Contains(said, []byte("Memory usage limit")) {
				return exit.Wrongf("%w; decompress it with xz -d first", failed)
			}
			return failed
		},
	}, done)
}

// openSquashfs reads a squashfs file system as a tar file. unsquashfs, which is more common, would need
// room for all files first.
func openSquashfs(path string, done func() error) (io.ReadCloser, error) {
	return openBy(decoder{
		program: "sqfs2tar", arguments: []string{"--", path},
		reason: "the image is a squashfs file system", packages: "squashfs-tools-ng",
		explain: func(failed error, _ []byte) error { return exit.Wrongf("%w; get or make the image again", failed) },
	}, done)
}

// decoder is a program that writes a plain tar file.
type decoder struct {
	program   string
	arguments []string
	input     io.Reader // may be nil
	// reason says why it is needed, and packages what has it.
	reason, packages string
	// explain adds to a failure what to do.
	explain func(failed error, said []byte) error
}

func openBy(d decoder, done func() error) (io.ReadCloser, error) {
	program, err := exec.LookPath(d.program)
	if err != nil {
		return nil, errors.Join(&exit.MissingError{
			Capability: d.program, Reason: d.reason + ", and " + d.program + " is not installed", Remedy: "apt-get install " + d.packages,
		}, done())
	}
	cmd := exec.Command(program, d.arguments...)
	cmd.Env = append(os.Environ(), "LC_ALL=C", "XZ_OPT=", "XZ_DEFAULTS=") // these have options, also of limits
	cmd.Stdin = d.input
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(err, done())
	}
	ended := &decoded{decoder: d, out: out, cmd: cmd, said: &said}
	return &opened{ended, func() error {
		ended.stop()
		return done()
	}}, nil
}

// decoded turns a failure of a decoder into an error at the end of what it has read.
type decoded struct {
	decoder
	out  io.ReadCloser
	cmd  *exec.Cmd
	said *bytes.Buffer
	end  error
}

func (d *decoded) Read(into []byte) (int, error) {
	if d.end != nil {
		return 0, d.end
	}
	n, err := d.out.Read(into)
	if errors.Is(err, io.EOF) {
		d.end = io.EOF
		if failed := d.cmd.Wait(); failed != nil {
			d.end = d.explain(fmt.Errorf("%s: %w: %s", d.program, failed, bytes.TrimSpace(d.said.Bytes())), d.said.Bytes())
		}
		err = d.end
	}
	return n, err
}

func (d *decoded) stop() {
	if d.end == nil {
		_ = d.cmd.Process.Kill()
		_ = d.cmd.Wait()
		d.end = os.ErrClosed
	}
}
