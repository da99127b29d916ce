package power

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"nines.dev/nines/exit"
)

// MostPassword is the longest password that IPMI 2.0 has (22.30), in bytes.
const MostPassword = 20

// leastPassword is the shortest: what IPMI sends before it knows the client lets anyone try passwords
// without asking again.
const leastPassword = 8

// ReadPassword reads the password in the first line of a file. Others than its owner, who is root or
// the caller, must not read it.
func ReadPassword(path string) (string, error) {
	password, err := readPassword(path)
	if err != nil {
		return "", exit.Wrongf("power: password_file %s: %w", path, err)
	}
	return password, nil
}

func readPassword(path string) (string, error) {
	// A pipe does not block with O_NONBLOCK, and is refused.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", errors.New("it does not exist; create it: (umask 077; openssl rand -hex 8 > FILE)")
	case errors.Is(err, syscall.ELOOP):
		return "", errors.New("it is a symbolic link; name the file itself")
	case err != nil:
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", err
	}
	owner, known := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return "", errors.New("it is not a regular file")
	case info.Mode().Perm()&0o077 != 0:
		return "", fmt.Errorf("its mode %04o lets others read it; use: chmod 600 %s", info.Mode().Perm(), path)
	case known && owner.Uid != 0 && int(owner.Uid) != os.Geteuid():
		return "", fmt.Errorf("user %d owns it and can change it; use: chown root %s", owner.Uid, path)
	}
	text, err := io.ReadAll(io.LimitReader(file, 4096))
	if err != nil {
		return "", err
	}
	line, _, _ := bytes.Cut(text, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	switch {
	case len(line) < leastPassword:
		return "", fmt.Errorf("its first line has %d bytes; a password has %d to %d", len(line), leastPassword, MostPassword)
	case len(line) > MostPassword:
		return "", fmt.Errorf("its first line has %d bytes, and IPMI 2.0 takes at most %d (22.30)", len(line), MostPassword)
	case bytes.ContainsFunc(line, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", errors.New("its first line has a space or a non-ASCII character, which clients encode differently; use letters, digits and symbols")
	}
	return string(line), nil
}
