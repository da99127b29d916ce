package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
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

// packScript packs what its argument leads to.
const packScript = `p=$(readlink -f "$1") && exec tar -c -f - -C "${p%/*}/" "./${p##*/}"`

func (g guest) pack(ctx context.Context, out io.Writer, path string) error {
	return g.run(ctx, nil, out, "sh", "-c", packScript, "sh", path)
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
		return fmt.Errorf("node %q lacks sh, tar or readlink, by which files are copied in it: %s", g.node, oneLine(said.String()))
	}
	if err != nil {
		return fmt.Errorf("copy in node %q: %w: %s", g.node, err, oneLine(said.String()))
	}
	return nil
}

// oneLine is what a program has said, for an error.
func oneLine(text string) string { return terminal.Cut(strings.Join(strings.Fields(text), " "), 300) }
