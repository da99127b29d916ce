package login

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
func (m *Maker) startGuestSSH(ctx context.Context, n plan.Node) error {
	files := map[string][]byte{}
	for _, name := range []string{node.SSHHostKey, node.SSHAuthorizedKeys} {
		text, err := os.ReadFile(filepath.Join(node.NodeAccess(m.State().Dir, n.Name), name))
		if err != nil {
			return err
		}
		files[name] = text
	}
	address := net.JoinHostPort(m.Plan().ManagementAddress(n.Name), strconv.Itoa(sshPort))
	if err := node.GuestOf(n).StartSSH(ctx, m.Place, m.Running(n.Name), files, address); err != nil {
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
func (m *Maker) tellGuests() bool {
	return m.Before != nil && m.Before.Management != nil && !plan.Same(m.Before.Management.SSHKeys, m.Plan().Management.SSHKeys)
}
