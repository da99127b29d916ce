// Package postgres starts a PostgreSQL server of one's own in a temporary folder, for
// tests and benchmarks: nothing of the host's is touched. The server refuses to run as
// root, so that it then runs as postgres, or nobody. It ends with whoever started it,
// even by SIGKILL.
package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

// ErrMissing is wrapped where the host lacks something that a server needs; the error
// names it.
var ErrMissing = errors.New("missing")

// Options are what a server is started with. By default it can be reached by its Unix
// socket only, by everybody who can see that.
type Options struct {
	// User is the superuser's name.
	User string
	// Listen is an address to listen on besides, at Port, for those who say Password.
	Listen   string
	Port     int
	Password string
	// Settings are those of postgresql.conf, such as "work_mem=256MB".
	Settings []string
}

// Server is a running server.
type Server struct {
	// Dir is its folder, with its socket; the server's user can write there.
	Dir string

	bin     string
	as      *syscall.Credential
	process *exec.Cmd
	ended   chan struct{}
	log     bytes.Buffer
}

// startPatience bounds how long a server may take until it answers.
const startPatience = time.Minute

// Start starts a server and waits until it answers.
func Start(ctx context.Context, o Options) (*Server, error) {
	s := &Server{bin: programs()}
	if s.bin == "" {
		return nil, fmt.Errorf("%w: PostgreSQL's initdb and postgres (package postgresql)", ErrMissing)
	}
	var err error
	if s.as, err = unprivileged(); err != nil {
		return nil, err
	}
	// Below /tmp, since the path of a socket must be short and open to the other user.
	if s.Dir, err = os.MkdirTemp("/tmp", "ninespg"); err != nil {
		return nil, err
	}
	if err = s.initialise(ctx, o); err == nil {
		err = s.run(ctx, o)
	}
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

func (s *Server) initialise(ctx context.Context, o Options) error {
	arguments := []string{"-D", s.Dir + "/data", "-U", o.User, "--no-sync", "--encoding=UTF8", "--locale=C", "--auth-local=trust"}
	passwords := s.Dir + "/password"
	if o.Listen != "" {
		if err := os.WriteFile(passwords, []byte(o.Password+"\n"), 0o600); err != nil {
			return err
		}
		arguments = append(arguments, "--auth-host=scram-sha-256", "--pwfile="+passwords)
	}
	if s.as != nil {
		for _, path := range []string{s.Dir, passwords} {
			if err := os.Chown(path, int(s.as.Uid), int(s.as.Gid)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
		}
	}
	if out, err := s.Command(ctx, "initdb", arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return nil
}

func (s *Server) run(ctx context.Context, o Options) error {
	port := max(o.Port, 5432)
	arguments := []string{"-D", s.Dir + "/data", "-k", s.Dir, "-p", strconv.Itoa(port),
		"-c", "listen_addresses=" + o.Listen, "-c", "fsync=off"}
	for _, setting := range o.Settings {
		arguments = append(arguments, "-c", setting)
	}
	// It ends by Stop, not with the context.
	s.process = s.Command(context.WithoutCancel(ctx), "postgres", arguments...)
	s.process.Stdout, s.process.Stderr = &s.log, &s.log
	if err := s.start(); err != nil {
		return err
	}
	for deadline := time.Now().Add(startPatience); ; time.Sleep(50 * time.Millisecond) {
		err := s.Command(ctx, "pg_isready", "-q", "-h", s.Dir, "-p", strconv.Itoa(port)).Run()
		if err == nil {
			return nil
		}
		select {
		case <-s.ended:
			return fmt.Errorf("postgres ended: %s", s.log.String())
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("postgres does not answer: %w", err)
		}
	}
}

// start starts the process such that the kernel ends it when this one dies. The signal
// comes when the thread ends that started it, prctl(2), which therefore waits for it.
func (s *Server) start() error {
	s.process.SysProcAttr.Pdeathsig = syscall.SIGQUIT // "immediate shutdown"
	started, ended := make(chan error, 1), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		err := s.process.Start()
		started <- err
		if err == nil {
			_ = s.process.Wait()
		}
		close(ended)
	}()
	if err := <-started; err != nil {
		s.process = nil
		return err
	}
	s.ended = ended
	return nil
}

// Command is a program of PostgreSQL's, as the server's user in its folder. At the end
// of the context it is interrupted.
func (s *Server) Command(ctx context.Context, program string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, filepath.Join(s.bin, program), args...)
	c.Dir = s.Dir
	c.Env = []string{"PATH=" + s.bin, "LC_ALL=C", "TZ=UTC"}
	c.SysProcAttr = &syscall.SysProcAttr{Credential: s.as, Setpgid: true}
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 10 * time.Second
	return c
}

// Stop ends the server and removes its folder.
func (s *Server) Stop() error {
	if s.process != nil {
		_ = s.process.Process.Signal(os.Interrupt) // "fast shutdown"
		select {
		case <-s.ended:
		case <-time.After(20 * time.Second):
			_ = s.process.Process.Kill()
			<-s.ended
		}
	}
	return os.RemoveAll(s.Dir)
}

// programs is the folder of the newest PostgreSQL of Debian, whose programs are not in
// PATH, or of another; empty where there is none.
func programs() string {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) > 0 {
		return filepath.Dir(found[len(found)-1])
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path)
	}
	return ""
}

// unprivileged is the user to run PostgreSQL as; nil for the one we are.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		if _, err := user.LookupId(strconv.Itoa(os.Geteuid())); err != nil { // initdb asks for the name
			return nil, fmt.Errorf("%w: a name for the user %d, which PostgreSQL wants", ErrMissing, os.Geteuid())
		}
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(found.Uid, 10, 32)
		if err != nil {
			return nil, err
		}
		gid, err := strconv.ParseUint(found.Gid, 10, 32)
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
	}
	return nil, fmt.Errorf("%w: a user postgres or nobody to run PostgreSQL as", ErrMissing)
}
