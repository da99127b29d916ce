package scripts

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

// Serve returns what the scripts of a virtual machine connect to, until it is closed; nil for other
// nodes, whose scripts reach a socket of the host.
func (n Node) Serve(ctx context.Context) (net.Listener, error) {
	planned, _, err := n.lab.Node(n.name)
	guest := node.GuestOf(planned)
	if err != nil || guest == nil {
		return nil, err
	}
	// It ends with its input, after the scripts, whatever becomes of ctx. A terminal's Ctrl-C is not for it.
	cmd, err := n.lab.Command(context.WithoutCancel(ctx), n.name, guest.ScriptRelay(n.seen(planned)), running.ExecOptions{})
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
		return nil, fmt.Errorf("serve the scripts of node %s: %w", n.name, err)
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
		return nil, fmt.Errorf("serve the scripts of node %s: %w: %s", n.name, err, strings.TrimSpace(said.String()))
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

// seen is the node's folder of scripts as the node sees it.
func (n Node) seen(planned plan.Node) string {
	return filepath.Join(node.RuntimeOf(planned).Seen(n.lab.Files()).Scripts, n.name)
}

// putInGuest writes a file in a guest.
func (n Node) putInGuest(ctx context.Context, path, text string) error {
	cmd, err := n.lab.Command(ctx, n.name, []string{"sh", "-c", `cat > "$1"`, "sh", path}, running.ExecOptions{})
	if err != nil {
		return err
	}
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("node %s: write %s: %w: %s", n.name, path, err, bytes.TrimSpace(out))
	}
	return nil
}
