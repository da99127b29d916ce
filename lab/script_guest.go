package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"nines.dev/nines/lab/running"

	"nines.dev/nines/lab/node"
	"nines.dev/nines/plan"
	"nines.dev/nines/script/relay"
)

// A guest sees no socket of the host. A program in it makes the folder of its scripts with their socket, and
// passes what comes there over its input and output (package relay).

// ServeScripts returns what the scripts of a virtual machine connect to, until it is closed; nil for other
// nodes, whose scripts reach a socket of the host.
func (l *Lab) ServeScripts(ctx context.Context, nodeName string) (net.Listener, error) {
	n, _, err := l.Node(nodeName)
	guest := node.GuestOf(n)
	if err != nil || guest == nil {
		return nil, err
	}
	// It ends with its input, after the scripts, whatever becomes of ctx. A terminal's Ctrl-C is not for it.
	cmd, err := l.Command(context.WithoutCancel(ctx), nodeName, guest.ScriptRelay(l.seenScripts(n)), running.ExecOptions{})
	if err != nil {
		return nil, err
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var said bytes.Buffer
	cmd.Stderr = &said
	ends := guestEnds{}
	if ends.Reader, err = cmd.StdoutPipe(); err == nil {
		ends.WriteCloser, err = cmd.StdinPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, fmt.Errorf("serve the scripts of node %s: %w", nodeName, err)
	}
	late := time.AfterFunc(node.GuestPatience, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	listener, err := relay.Listen(ends)
	served := &servedScripts{listener, func() error {
		_ = ends.Close() // already, where the session has ended
		late := time.AfterFunc(servedEnd, func() { _ = cmd.Process.Kill() })
		defer late.Stop()
		return cmd.Wait()
	}}
	if err != nil {
		err = errors.Join(err, served.end())
		return nil, fmt.Errorf("serve the scripts of node %s: %w: %s", nodeName, err, strings.TrimSpace(said.String()))
	}
	return served, nil
}

// servedEnd is how long the program in a guest may take to end: a guest whose kernel has stopped never tells.
const servedEnd = 10 * time.Second

// guestEnds are the output and the input of a program.
type guestEnds struct {
	io.Reader
	io.WriteCloser
}

// servedScripts ends the program in the guest when it is closed.
type servedScripts struct {
	net.Listener
	end func() error
}

func (s *servedScripts) Close() error {
	_ = s.Listener.Close()
	return s.end()
}

// seenScripts is a node's folder of scripts as the node sees it.
func (l *Lab) seenScripts(n plan.Node) string {
	return filepath.Join(node.RuntimeOf(n).Seen(l.Files()).Scripts, n.Name)
}

// putInGuest writes a file in a guest.
func (l *Lab) putInGuest(ctx context.Context, nodeName, path, text string) error {
	cmd, err := l.Command(ctx, nodeName, []string{"sh", "-c", `cat > "$1"`, "sh", path}, running.ExecOptions{})
	if err != nil {
		return err
	}
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("node %s: write %s: %w: %s", nodeName, path, err, bytes.TrimSpace(out))
	}
	return nil
}
