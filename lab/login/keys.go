package login

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
)

// keyProgram makes keys; it comes with OpenSSH's client, which nines ssh runs.
const keyProgram = "ssh-keygen"

// MakeKeys makes the lab's identity and the keys of its nodes, those that are not there yet, and
// writes down who may log in and which key is whose. A node keeps its key for as long as the lab
// is up.
func (m *Maker) MakeKeys(ctx context.Context) error {
	if m.Plan().Management == nil {
		return nil
	}
	program, err := exec.LookPath(keyProgram)
	if err != nil {
		return nil // and no ssh_keys, so nobody has asked to log in (Check)
	}
	if err := os.MkdirAll(m.State().Access(), 0o700); err != nil {
		return err
	}
	if err := makeKey(ctx, program, m.State().Identity(), "nines lab "+m.Name()); err != nil {
		return err
	}
	allowed, err := os.ReadFile(m.State().Identity() + ".pub")
	if err != nil {
		return err
	}
	users, err := m.usersKeys()
	if err != nil {
		return err
	}
	var known, config strings.Builder
	for _, n := range m.Plan().Nodes {
		if !m.Plan().LogsIn(n) {
			continue
		}
		key, err := m.makeNodeKeys(ctx, program, n, string(allowed)+users)
		if err != nil {
			return fmt.Errorf("node %q: make its keys: %w", n.Name, err)
		}
		known.WriteString(knownHost(m.Plan(), n, key))
		config.WriteString(clientEntry(m.Lab, n))
	}
	return errors.Join(state.WriteFile(m.State().KnownHosts(), []byte(known.String())), state.WriteFile(m.State().ClientConfig(), []byte(config.String())))
}

// usersKeys are the keys of those who may log in. They are read from the user's files when the lab comes
// up or is changed, and kept: a restart does not need those files.
func (m *Maker) usersKeys() (string, error) {
	if m.Again {
		text, err := os.ReadFile(m.State().UsersKeys())
		return string(text), state.AbsentIsFine(err)
	}
	text, err := usersKeys(m.Plan().Management.SSHKeys)
	if err != nil {
		return "", err
	}
	return text, state.WriteFile(m.State().UsersKeys(), []byte(text))
}

// makeNodeKeys makes a node's key, and returns its public half.
func (m *Maker) makeNodeKeys(ctx context.Context, program string, n plan.Node, allowed string) (string, error) {
	folder := node.NodeAccess(m.State().Dir, n.Name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(folder, node.SSHHostKey)
	if err := makeKey(ctx, program, path, n.HostName); err != nil {
		return "", err
	}
	for name, text := range map[string]string{
		node.SSHAuthorizedKeys: allowed,
		node.SSHConfig:         serverConfig(m.Plan(), n, m.Place.AccessSeen(n)),
	} {
		// In place, as a node that runs has it mounted; nodes cannot write there.
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	key, err := os.ReadFile(path + ".pub")
	return string(key), err
}

// makeKey makes a pair of keys, if it is not there. A half of a pair is what a killed nines left.
func makeKey(ctx context.Context, program, path, comment string) error {
	_, private := os.Stat(path)
	_, public := os.Stat(path + ".pub")
	if private == nil && public == nil {
		return nil
	}
	for _, half := range []string{path, path + ".pub"} {
		if err := os.Remove(half); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, program, "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", path)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", keyProgram, err, strings.TrimSpace(string(out)))
	}
	return nil
}
