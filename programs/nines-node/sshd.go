package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/creack/pty"
	"github.com/gliderlabs/ssh"
	"golang.org/x/sys/unix"

	"nines.dev/nines/lab/node"
)

// A guest has no OpenSSH. What it has for those who log in is here: one user, root, with public keys only, a
// shell or a command, and neither forwarding nor files.

// shell is what people who log in get, and what reads their commands.
const shell = "/bin/sh"

// sshd serves logins at an address until it is ended. A running server continues, as it reads the
// keys for each login.
func sshd(arguments []string) error {
	flags := flag.NewFlagSet("sshd", flag.ContinueOnError)
	address := flags.String("address", "", "the address and port to listen at")
	folder := flags.String("folder", "", "the folder with the server's key and the login keys")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	server, err := loginServer(*folder, newPendingLogins())
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", *address)
	if errors.Is(err, unix.EADDRINUSE) {
		return nil
	}
	if err != nil {
		return err
	}
	return server.Serve(listener)
}

func loginServer(folder string, outside *pendingLogins) (*ssh.Server, error) {
	server := &ssh.Server{
		Handler: login,
		PublicKeyHandler: func(ctx ssh.Context, key ssh.PublicKey) bool {
			keys, err := os.ReadFile(filepath.Join(folder, node.SSHAuthorizedKeys))
			return err == nil && ctx.User() == "root" && isAmong(key, keys)
		},
	}
	outside.bound(server)
	if err := server.SetOption(ssh.HostKeyFile(filepath.Join(folder, node.SSHHostKey))); err != nil {
		return nil, fmt.Errorf("the server's key: %w", err)
	}
	return server, nil
}

// isAmong is true for a key that is in the text of a file authorized_keys.
func isAmong(key ssh.PublicKey, text []byte) bool {
	for len(text) > 0 {
		known, _, options, rest, err := ssh.ParseAuthorizedKey(text)
		if err != nil {
			return false // there is no further key
		}
		if len(options) == 0 && ssh.KeysEqual(known, key) {
			return true
		}
		text = rest
	}
	return false
}

// leftOpen is how long a login goes on whose command has ended, while what it left behind keeps its output open.
const leftOpen = 5 * time.Second

// login runs a command, or a shell, until it ends or the client goes.
func login(s ssh.Session) {
	cmd := exec.CommandContext(s.Context(), shell, "-l")
	if s.RawCommand() != "" {
		cmd = exec.CommandContext(s.Context(), shell, "-c", s.RawCommand())
	}
	cmd.Env, cmd.Dir, cmd.WaitDelay = os.Environ(), "/", leftOpen
	cmd.Cancel = func() error { return unix.Kill(-cmd.Process.Pid, unix.SIGKILL) } // each has a session of its own
	run := withoutTerminal
	if terminal, resized, has := s.Pty(); has {
		cmd.Env = append(cmd.Env, "TERM="+terminal.Term)
		run = func(cmd *exec.Cmd, s ssh.Session) error { return inTerminal(cmd, s, terminal.Window, resized) }
	}
	_ = s.Exit(exitCode(s.Context(), run(cmd, s)))
}

func withoutTerminal(cmd *exec.Cmd, s ssh.Session) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stdout, cmd.Stderr = s, s.Stderr()
	input, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		_, _ = io.Copy(input, s)
		_ = input.Close()
	}()
	return cmd.Wait()
}

func inTerminal(cmd *exec.Cmd, s ssh.Session, size ssh.Window, resized <-chan ssh.Window) error {
	winsize := func(w ssh.Window) *pty.Winsize {
		return &pty.Winsize{Rows: uint16(w.Height), Cols: uint16(w.Width)}
	}
	terminal, err := pty.StartWithSize(cmd, winsize(size))
	if err != nil {
		return err
	}
	defer terminal.Close()
	go func() {
		for w := range resized {
			_ = pty.Setsize(terminal, winsize(w))
		}
	}()
	go func() { _, _ = io.Copy(terminal, s) }()
	copied := make(chan struct{})
	go func() {
		_, _ = io.Copy(s, terminal) // ends with EIO when no process has the terminal open
		close(copied)
	}()
	err = cmd.Wait()
	select {
	case <-copied:
	case <-time.After(leftOpen):
	}
	return err
}

// exitCode is what the client is told of a command's end.
func exitCode(ctx context.Context, err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return 0
	case ctx.Err() != nil:
		return exitFailed // the client has gone
	case !errors.As(err, &exit):
		return exitCannotRun
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exit.ExitCode()
}
