package login

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
)

const (
	someKey  = "AAAAC3NzaC1lZDI1NTE5AAAAIJ0Wc3dJQk0d1oRz0z0m9cWl2m0b2r8Jm6cXoJ1mJm8d"
	otherKey = "AAAAC3NzaC1lZDI1NTE5AAAAIHZ9w0vDk1o0m9cWl2m0b2r8Jm6cXoJ1mJm8dJ0Wc3dJ"
)

// TestPublicKeys: only keys are taken, whatever else a file of keys can have.
func TestPublicKeys(t *testing.T) {
	text := "# of the team\n\n  ssh-ed25519 " + someKey + " ann@example.com with a comment\t\nssh-ed25519 " + otherKey + "\n"
	want := "ssh-ed25519 " + someKey + " ann@example.com with a comment\nssh-ed25519 " + otherKey + "\n"
	if got, err := publicKeys(text); got != want || err != nil {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	for what, c := range map[string]struct{ text, want string }{
		"a private key":     {"-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n", "private key"},
		"nothing":           {"\n# no key\n", "no public key"},
		"an option":         {`command="reboot" ssh-ed25519 ` + someKey, "line 1 does not begin with the type"},
		"an unknown type":   {"ssh-ed25519 " + someKey + "\nssh-dss AAAA", "line 2 does not begin with the type"},
		"half a key":        {"ssh-ed25519 " + someKey[:20], "line 1 is not a complete key"},
		"a key in two":      {"ssh-ed25519\n" + someKey, "line 1 is not a complete key"},
		"a key of another":  {"ssh-rsa " + someKey, "line 1 is not a complete key of the type ssh-rsa"},
		"what is no base64": {"ssh-ed25519 AAAA!AAA", "line 1 is not a complete key"},
	} {
		if got, err := publicKeys(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %q, %v; want %q", what, got, err, c.want)
		}
	}
}

// TestFilesOfKeysAreRefused: with the place in the file, and without waiting for a pipe.
func TestFilesOfKeysAreRefused(t *testing.T) {
	dir := t.TempDir()
	pipe, large := filepath.Join(dir, "pipe"), filepath.Join(dir, "large")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(large, make([]byte, maxKeyFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "none"): "no such file", dir: "not a regular file", pipe: "not a regular file", large: "larger than 256 KiB",
	} {
		_, err := usersKeys([]string{path})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "management.ssh_keys.0: "+path) || exit.Code(err) != exit.Wrong {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

// FuzzPublicKeys: what is taken is lines of keys without options, and is taken again as it is.
func FuzzPublicKeys(f *testing.F) {
	for _, seed := range []string{
		"ssh-ed25519 " + someKey + " me@here\n", "# nothing\n", "ssh-rsa AAAA", `command="x" ssh-ed25519 ` + someKey,
		"ssh-ed25519 " + someKey + " a\rcommand=\"x\"\n", "-----BEGIN OPENSSH PRIVATE KEY-----",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		keys, err := publicKeys(text)
		if err != nil {
			return
		}
		for line := range strings.Lines(keys) {
			fields := strings.Fields(line)
			if len(fields) < 2 || !isKey(fields[0], fields[1]) || strings.ContainsFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool { return r < ' ' }) {
				t.Errorf("%q was taken as %q", text, line)
			}
		}
		if again, err := publicKeys(keys); err != nil || again != keys {
			t.Errorf("%q, taken again, is %q, %v", keys, again, err)
		}
	})
}
