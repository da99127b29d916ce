package login

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"nines.dev/nines/kernel/await"
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
	address := net.JoinHostPort(m.Plan().ManagementAddress(n), strconv.Itoa(sshPort))
	if err := node.GuestOf(n).StartSSH(ctx, m.Place, m.Running(n.Name), files, address); err != nil {
		return err
	}
	return await.Until(ctx, await.Condition{
		What: "it answers at " + address, Within: node.GuestPatience, Every: 100 * time.Millisecond,
		Holds: func(ctx context.Context) error {
			conn, err := (&net.Dialer{Timeout: sshPatience}).DialContext(ctx, "tcp", address) // from the host, as those who log in
			if err != nil {
				return err
			}
			return await.Never(conn.Close())
		},
	})
}

// tellGuests is true where guests that stay have to be told that others may log in: they see no file of the host.
func (m *Maker) tellGuests() bool {
	return m.Before != nil && m.Before.Management != nil && !plan.Same(m.Before.Management.SSHKeys, m.Plan().Management.SSHKeys)
}
