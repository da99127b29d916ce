package node

import (
	"context"
	"maps"
	"path/filepath"
	"slices"

	"nines.dev/nines/vm/guestagent"
)

// guestSSHLog has what a guest's SSH server says.
const guestSSHLog = "/run/nines-sshd.log"

// StartSSH starts nines-node as an SSH server in a guest.
func (vmRuntime) StartSSH(ctx context.Context, p Place, r *Running, files map[string][]byte, address string) error {
	guest, err := p.session(ctx, r)
	if err != nil {
		return err
	}
	defer guest.Close()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(containerAccess, name)
		if _, err := inGuest(ctx, guest, files[name], "sh", "-c", `umask 077; mkdir -p "${1%/*}"; cat > "$1"`, "sh", path); err != nil {
			return err
		}
	}
	_, err = guest.Spawn(ctx, guestagent.Request{Argv: []string{GuestNode, "sshd", "--address", address, "--folder", containerAccess}, Log: guestSSHLog})
	return err
}
