package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"nines.dev/nines/lab/node"
	"nines.dev/nines/plan"
)

// startGuestSSH lets people log in to a virtual machine. Its server is a process of the guest, and ends with
// it.
func (b *builder) startGuestSSH(ctx context.Context, n plan.Node) error {
	files := map[string][]byte{}
	for _, name := range []string{node.SSHHostKey, node.SSHAuthorizedKeys} {
		text, err := os.ReadFile(filepath.Join(node.NodeAccess(b.State().Dir, n.Name), name))
		if err != nil {
			return err
		}
		files[name] = text
	}
	address := net.JoinHostPort(b.Plan().ManagementAddress(n.Name), strconv.Itoa(sshPort))
	if err := node.GuestOf(n).StartSSH(ctx, b.place(), b.Running(n.Name), files, address); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, node.GuestPatience, fmt.Errorf("it does not answer at %s within %v", address, node.GuestPatience))
	defer cancel()
	for {
		conn, err := (&net.Dialer{Timeout: sshPatience}).DialContext(ctx, "tcp", address) // from the host, as those who log in
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// tellGuests is true where guests that stay have to be told that others may log in: they see no file of the host.
func (b *builder) tellGuests() bool {
	return b.before != nil && b.before.Management != nil && !plan.Same(b.before.Management.SSHKeys, b.Plan().Management.SSHKeys)
}
