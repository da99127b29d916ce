package power

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestReadPassword(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(at(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(at(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("right", "correct-horse\nnot this\n", 0o600)
	write("windows", "correct-horse\r\n", 0o400)
	write("open", "correct-horse\n", 0o640)
	write("short", "1234567\n", 0o600)
	write("empty", "", 0o600)
	write("long", strings.Repeat("x", 21)+"\n", 0o600)
	write("space", "correct horse\n", 0o600)
	write("umlaut", "pässwörter\n", 0o600)
	if err := os.Symlink(at("right"), at("link")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(at("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"right", "windows"} {
		if got, err := ReadPassword(at(name)); err != nil || got != "correct-horse" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for name, want := range map[string]string{
		"open": "chmod 600", "short": "7 bytes", "empty": "0 bytes", "long": "at most 20", "space": "ASCII", "umlaut": "ASCII",
		"link": "symbolic link", "pipe": "not a regular file", "missing": "does not exist", ".": "regular file",
	} {
		begun := time.Now()
		_, err := ReadPassword(at(name))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v does not say %q", name, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), "horse") || strings.Contains(err.Error(), "1234567")) {
			t.Errorf("%s: the error tells the password: %v", name, err)
		}
		if time.Since(begun) > time.Minute {
			t.Errorf("%s: it waits", name)
		}
	}
	if os.Geteuid() == 0 {
		write("foreign", "correct-horse\n", 0o600)
		if err := os.Chown(at("foreign"), 12345, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadPassword(at("foreign")); err == nil || !strings.Contains(err.Error(), "12345") {
			t.Errorf("a file of someone else's: %v", err)
		}
	}
}
