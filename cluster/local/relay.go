package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/lab/node"
)

// RelayVerb is the verb of this program that relays; it is for startRelay only.
const RelayVerb = "relay"

// startRelay starts the process by which the host reaches the API server: it listens on the host's
// own loopback, and connects in the control plane's namespace. It returns the address.
func (s Session) startRelay(ctx context.Context, j *journal.Journal, p Programs, control *node.Running) (string, error) {
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("listen for clients of the cluster: %w", err)
	}
	defer listener.Close()
	// The relay gets the socket itself, so that nobody can take the port before it.
	socket, err := listener.(*net.TCPListener).File()
	if err != nil {
		return "", err
	}
	defer socket.Close()
	log, err := os.OpenFile(s.relayLog(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return "", err
	}
	defer log.Close()
	step := journal.Step{Name: "relay", Token: j.Token("relay")}
	err = process.Make(j, step, func() (proc.Identity, error) {
		cmd := exec.Command(p.cluster(), RelayVerb, strconv.Itoa(control.PID), strconv.FormatUint(control.StartTicks, 10), step.Token)
		cmd.ExtraFiles = []*os.File{socket}
		cmd.Stderr = log
		return proc.Start(ctx, cmd, proc.ReadyOnStdout)
	})
	if err != nil {
		return "", fmt.Errorf("start the relay: %w", err)
	}
	return "https://" + listener.Addr().String(), nil
}

// relayedTo is where the API server listens in its namespace.
const relayedTo = "127.0.0.1:" + apiPort

// relayPatience is how long a client waits for an API server that is being started again.
const relayPatience = 10 * time.Second

// Relay serves the listening socket at descriptor 3: what connects to it is connected to the API
// server in the namespace of the process. It writes "ok" to ready when it serves, and ends with
// ctx, or when the process has ended.
func Relay(ctx context.Context, target proc.Identity, ready io.Writer) error {
	socket := os.NewFile(3, "listener")
	listener, err := net.FileListener(socket)
	if err != nil {
		return fmt.Errorf("take over the listener: %w", err)
	}
	_ = socket.Close()
	ns, err := netns.OfProcess(target.PID)
	if err != nil {
		return err
	}
	defer ns.Close()
	// Checked after opening, so that the namespace is that of the checked process.
	if !target.Alive() {
		return fmt.Errorf("the control plane's first process, %d, has ended", target.PID)
	}
	context.AfterFunc(ctx, func() { _ = listener.Close() })
	if _, err := fmt.Fprintln(ready, "ok"); err != nil {
		return err
	}
	for {
		near, err := listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil
		case err != nil:
			// Out of descriptors, for example: those who are served will free some.
			fmt.Fprintln(os.Stderr, err)
			time.Sleep(100 * time.Millisecond)
			continue
		}
		go func() {
			if err := relay(near, ns); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}()
	}
}

func relay(near net.Conn, ns *netns.Namespace) error {
	defer near.Close()
	var far net.Conn
	err := ns.Do(func() (err error) {
		// A dial to one address makes its socket on this thread.
		far, err = net.DialTimeout("tcp4", relayedTo, relayPatience)
		return err
	})
	if err != nil {
		return err
	}
	defer far.Close()
	var both sync.WaitGroup
	for _, way := range [][2]*net.TCPConn{{near.(*net.TCPConn), far.(*net.TCPConn)}, {far.(*net.TCPConn), near.(*net.TCPConn)}} {
		both.Go(func() {
			_, _ = io.Copy(way[0], way[1]) // a broken connection ends like any other
			_ = way[0].CloseWrite()
		})
	}
	both.Wait()
	return nil
}
