package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"

	"nines.dev/nines/lab/running"
	"nines.dev/nines/terminal"
)

// guest is a node that only its own programs can read: a virtual machine or a pod. It needs sh and tar.
type guest struct {
	lab  *running.Lab
	node string
}

// kindScript prints what its argument is.
const kindScript = `if [ -d "$1" ]; then echo folder; elif [ -e "$1" ]; then echo file; fi`

func (g guest) kind(ctx context.Context, path string) (kind, error) {
	var said bytes.Buffer
	if err := g.run(ctx, nil, &said, "sh", "-c", kindScript, "sh", path); err != nil {
		return nothing, err
	}
	switch strings.TrimSpace(said.String()) {
	case "folder":
		return folder, nil
	case "file":
		return file, nil
	}
	return nothing, nil
}

func (g guest) pack(ctx context.Context, out io.Writer, path string) error {
	return g.run(ctx, nil, out, "tar", "-c", "-f", "-", "-C", filepath.Dir(path), "--", filepath.Base(path))
}

func (g guest) unpack(ctx context.Context, in io.Reader, into string) error {
	return g.run(ctx, in, io.Discard, "tar", "-x", "-f", "-", "-C", into)
}

// run runs a command in the node; its error ends with what it has said.
func (g guest) run(ctx context.Context, in io.Reader, out io.Writer, argv ...string) error {
	cmd, err := g.lab.Command(ctx, g.node, argv, running.ExecOptions{})
	if err != nil {
		return err
	}
	var said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, &said
	err = cmd.Run()
	if ended := new(exec.ExitError); errors.As(err, &ended) && ended.ExitCode() == 127 {
		return fmt.Errorf("node %q has no program %s, which copying needs in it", g.node, argv[0])
	}
	if err != nil {
		return fmt.Errorf("%s in node %q: %w: %s", argv[0], g.node, err, terminal.Cut(strings.TrimSpace(said.String()), 300))
	}
	return nil
}
