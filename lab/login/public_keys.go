package login

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"nines.dev/nines/exit"
	"nines.dev/nines/plan"
)

// maxKeyFile is the largest file of public keys: hundreds of keys.
const maxKeyFile = 256 << 10

// keyTypes are the public keys of OpenSSH, sshd(8), "AUTHORIZED_KEYS FILE FORMAT".
var keyTypes = []string{
	"ssh-ed25519", "ssh-rsa", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521",
	"sk-ssh-ed25519@openssh.com", "sk-ecdsa-sha2-nistp256@openssh.com",
}

// Check checks that people can log in as the file says.
func Check(p *plan.Plan) error {
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
