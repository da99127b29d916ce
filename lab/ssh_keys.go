package lab

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/lab/state"
	"nines.dev/nines/plan"
)

// keyProgram makes keys; it comes with OpenSSH's client, which nines ssh runs.
const keyProgram = "ssh-keygen"

// maxKeyFile is the largest file of public keys: hundreds of keys.
const maxKeyFile = 256 << 10

// keyTypes are the public keys of OpenSSH, sshd(8), "AUTHORIZED_KEYS FILE FORMAT".
var keyTypes = []string{
	"ssh-ed25519", "ssh-rsa", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521",
	"sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com",
}

// checkAccess checks that people can log in as the file says.
func checkAccess(p *plan.Plan) error {
	if len(p.Management.SSHKeys) == 0 {
		return nil
	}
	if _, err := exec.LookPath(keyProgram); err != nil {
		return &exit.MissingError{
			Capability: keyProgram, Reason: "there is no " + keyProgram + ", which makes the nodes' own keys",
			Remedy: "apt-get install openssh-client, or take management.ssh_keys away",
		}
	}
	_, err := usersKeys(p.Management.SSHKeys)
	return err
}

// usersKeys reads files of public keys.
func usersKeys(paths []string) (string, error) {
	var keys strings.Builder
	for i, path := range paths {
		text, err := readKeys(path)
		if err == nil {
			text, err = publicKeys(text)
		}
		if err != nil {
			return "", exit.Wrongf("management.ssh_keys.%d: %s: %w", i, path, err)
		}
		keys.WriteString(text)
	}
	return keys.String(), nil
}

func readKeys(path string) (string, error) {
	info, err := os.Stat(path) // before it is opened: a pipe would block
	if err != nil {
		return "", errors.Unwrap(err)
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("it is not a regular file; name a file of public keys, such as id_ed25519.pub")
	}
	file, err := os.Open(path)
	if err != nil {
		return "", errors.Unwrap(err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxKeyFile+1))
	if len(text) > maxKeyFile {
		return "", fmt.Errorf("it is larger than %d KiB; name a file of public keys", maxKeyFile>>10)
	}
	return string(text), err
}

// publicKeys are the keys of a text, a line each. It takes nothing but keys: no options, which could
// run commands, and above all no private key. It is pure.
func publicKeys(text string) (string, error) {
	text = strings.Map(func(r rune) rune {
		if r != '\n' && (r < ' ' || r == 0x7f) {
			return ' '
		}
		return r
	}, text)
	var keys strings.Builder
	number := 0
	for line := range strings.Lines(text) {
		number++
		fields := strings.Fields(line)
		line = strings.Join(fields, " ")
		if strings.Contains(line, "PRIVATE KEY") {
			return "", errors.New("it holds a private key, which must stay secret; name the public key beside it, which ends in .pub")
		}
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if !slices.Contains(keyTypes, fields[0]) {
			return "", fmt.Errorf("line %d does not begin with the type of a public key; allowed: %s, without options before them", number, strings.Join(keyTypes, ", "))
		}
		if len(fields) < 2 || !isKey(fields[0], fields[1]) {
			return "", fmt.Errorf("line %d is not a complete key of the type %s; copy it again, in one line", number, fields[0])
		}
		fmt.Fprintln(&keys, line)
	}
	if keys.Len() == 0 {
		return "", errors.New("it holds no public key; ssh-keygen -t ed25519 makes one")
	}
	return keys.String(), nil
}

// isKey is true for the base64 of a key of a type: the key begins with the type's name, after its
// length (RFC 4253, 6.6).
func isKey(keyType, text string) bool {
	raw, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(raw) < 4+len(keyType)+4 {
		return false
	}
	return int(binary.BigEndian.Uint32(raw)) == len(keyType) && string(raw[4:4+len(keyType)]) == keyType
}

// makeKeys makes the lab's identity and the keys of its nodes, those that are not there yet, and
// writes down who may log in and which key is whose. A node keeps its key for as long as the lab
// is up.
func (b *builder) makeKeys(ctx context.Context, _ work) error {
	if b.Plan().Management == nil {
		return nil
	}
	program, err := exec.LookPath(keyProgram)
	if err != nil {
		return nil // and no ssh_keys, so nobody has asked to log in (checkAccess)
	}
	if err := os.MkdirAll(b.State().Access(), 0o700); err != nil {
		return err
	}
	if err := makeKey(ctx, program, b.State().Identity(), "nines lab "+b.Name()); err != nil {
		return err
	}
	allowed, err := os.ReadFile(b.State().Identity() + ".pub")
	if err != nil {
		return err
	}
	users, err := b.usersKeys()
	if err != nil {
		return err
	}
	var known, config strings.Builder
	for _, n := range b.Plan().Nodes {
		if !b.Plan().LogsIn(n) {
			continue
		}
		key, err := b.makeNodeKeys(ctx, program, n, string(allowed)+users)
		if err != nil {
			return fmt.Errorf("node %q: make its keys: %w", n.Name, err)
		}
		known.WriteString(knownHost(b.Plan(), n, key))
		config.WriteString(b.clientEntry(n))
	}
	return errors.Join(state.WriteFile(b.State().KnownHosts(), []byte(known.String())), state.WriteFile(b.State().ClientConfig(), []byte(config.String())))
}

// usersKeys are the keys of those who may log in. They are read from the user's files when the lab comes
// up or is changed, and kept: a restart does not need those files.
func (b *builder) usersKeys() (string, error) {
	if b.again {
		text, err := os.ReadFile(b.State().UsersKeys())
		return string(text), state.AbsentIsFine(err)
	}
	text, err := usersKeys(b.Plan().Management.SSHKeys)
	if err != nil {
		return "", err
	}
	return text, state.WriteFile(b.State().UsersKeys(), []byte(text))
}

// makeNodeKeys makes a node's key, and returns its public half.
func (b *builder) makeNodeKeys(ctx context.Context, program string, n plan.Node, allowed string) (string, error) {
	folder := node.NodeAccess(b.State().Dir, n.Name)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(folder, node.SSHHostKey)
	if err := makeKey(ctx, program, path, n.HostName); err != nil {
		return "", err
	}
	for name, text := range map[string]string{
		node.SSHAuthorizedKeys: allowed,
		node.SSHConfig:         serverConfig(b.Plan(), n, b.place().AccessSeen(n)),
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
