package port

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/journal"
	"nines.dev/nines/lab/link"
)

// KindSwitchPort is a port, Name, of the switch whose control socket is Path.
var KindSwitchPort = journal.Register("switch port", journal.Undo{Step: closeSwitchPort})

// SocketFile is the name of a port's socket in its folder.
const SocketFile = "s"

// SocketFolder returns the folder for a port's sockets, on the node. A pod gets the whole folder instead of
// the socket alone, so that it also sees a socket that was made again.
func (k Keeper) SocketFolder(p Port) string {
	if p.PodListens() {
		return filepath.Join(k.Folder, memoryFolder, p.Name, memoryName)
	}
	return filepath.Join(k.place(p.Parent, p.Name).Path(), socketName)
}

// takeVhost makes a vhost-user socket that the switch listens on.
func takeVhost(ctx context.Context, s site, _ *Held) error {
	socket := filepath.Join(s.sockets, SocketFile)
	if err := os.Mkdir(s.sockets, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	step := journal.Step{Kind: KindSwitchPort, Name: s.Port.Name, Path: s.Port.Socket}
	return s.journal.Make(step, func() (journal.Learnt, error) {
		return journal.Learnt{}, s.openInSwitch(ctx, socket)
	})
}

// openInSwitch makes the switch open a port and attach it with a fixed MAC address: otherwise another pod
// could send with that address and receive the port's packets.
func (s site) openInSwitch(ctx context.Context, socket string) error {
	mac, err := net.ParseMAC(s.MAC)
	if err != nil {
		return err
	}
	return withSwitch(ctx, s.Port.Socket, func(c *client.Client) error {
		if err := link.RemoveStaleSocket(socket); err != nil {
			return err
		}
		port := client.Port{
			Name: s.Port.Name, Backend: "vhost", Device: socket, Server: true,
			Frames: "all", IO: "batch", Wait: "spin", FrameBytes: s.frameBytes(),
		}
		if _, err := c.Open(port); err != nil {
			return err
		}
		if err := c.Attach(client.SwitchPort{Port: s.Port.Name, MACs: []string{mac.String()}}); err != nil {
			return errors.Join(err, c.ClosePort(s.Port.Name))
		}
		// Every program that sees the folder may connect: a pod's user need not be root.
		return os.Chmod(socket, 0o666)
	})
}

// frameBytes returns the length of the longest frame: the MTU, a header and an FCS.
func (s site) frameBytes() int {
	const headBytes = 18
	if s.Port.MTU == 0 {
		return StandardMTU + headBytes
	}
	return s.Port.MTU + headBytes
}

// restoreVhost makes a socket again that its switch lost in a restart.
func restoreVhost(ctx context.Context, s site, _ *Held) error {
	if !listens(ctx, s.Port.Socket) {
		return fmt.Errorf("port %s: the node's switch is not running", s.Port.Name)
	}
	has := false
	err := withSwitch(ctx, s.Port.Socket, func(c *client.Client) error {
		stats, err := c.SwitchStats()
		for _, p := range stats.Ports {
			has = has || p.Port == s.Port.Name
		}
		return err
	})
	if err != nil || has {
		return err
	}
	// The journal already has the port.
	return s.openInSwitch(ctx, filepath.Join(s.sockets, SocketFile))
}

// closeSwitchPort removes a port from its switch. A switch that has ended no longer has ports.
func closeSwitchPort(ctx context.Context, u journal.Undoing) error {
	ctx, cancel := context.WithTimeout(ctx, switchPatience)
	defer cancel()
	if !listens(ctx, u.Path) {
		return nil
	}
	return withSwitch(ctx, u.Path, func(c *client.Client) error {
		_ = c.Detach(u.Name) // it may be attached or not
		err := c.ClosePort(u.Name)
		if refused := new(client.Error); errors.As(err, &refused) && refused.Errno == "ENOENT" {
			return nil
		}
		return err
	})
}

// listens reports whether a process listens on a control socket. The socket of a killed process refuses
// connections.
func listens(ctx context.Context, socket string) bool {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", socket)
	if err == nil {
		_ = conn.Close()
	}
	return !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.ECONNREFUSED)
}

// switchPatience limits how long a connection to a switch lasts.
const switchPatience = 20 * time.Second

// withSwitch connects to a switch, which accepts one client at a time, and calls f.
func withSwitch(ctx context.Context, socket string, f func(*client.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, switchPatience)
	defer cancel()
	c, err := client.Dial(ctx, socket)
	if err != nil {
		return fmt.Errorf("the node's switch does not answer: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	err = f(c)
	if err != nil && ctx.Err() != nil {
		err = fmt.Errorf("the node's switch did not answer within %v: %w", switchPatience, err)
	}
	_ = c.Close() // the timeout may have closed it already
	return err
}
