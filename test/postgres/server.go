// Package postgres starts a separate PostgreSQL server in a temporary folder, for tests and
// benchmarks; it changes nothing else on the host. The server refuses to run as root, so root runs
// it as the user postgres, or nobody. It ends with the process that started it, even after SIGKILL.
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

	"nines.dev/nines/kernel/await"
)

// ErrMissing is wrapped by an error that names what the host lacks for a server.
var ErrMissing = errors.New("missing")

// Options are the settings of a server. By default it can only be reached by its Unix socket, by
// everyone who can see that.
type Options struct {
	// User is the superuser's name.
	User string
	// Listen is a further address to listen on, at Port, for clients with Password.
	Listen   string
	Port     int
	Password string
	// Settings are lines of postgresql.conf, such as "work_mem=256MB".
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

// startPatience limits how long a server may take until it answers.
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
	// Below /tmp, because the path of a socket must be short and open to the other user.
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
	// Stop ends it, not the context.
	s.process = s.Command(context.WithoutCancel(ctx), "postgres", arguments...)
	s.process.Stdout, s.process.Stderr = &s.log, &s.log
	if err := s.start(); err != nil {
		return err
	}
	return await.Until(ctx, await.Condition{What: "postgres answers", Within: startPatience, Every: 50 * time.Millisecond, Holds: func(ctx context.Context) error {
		err := s.Command(ctx, "pg_isready", "-q", "-h", s.Dir, "-p", strconv.Itoa(port)).Run()
		if err == nil {
			return nil
		}
		select {
		case <-s.ended:
			return await.Never(fmt.Errorf("postgres ended: %s", s.log.String()))
		default:
			return err
		}
	}})
}

// start starts the process so that the kernel ends it when this one dies. The kernel sends the
// signal when the thread that started the process ends (prctl(2)), so that thread waits for it.
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

// Command returns a PostgreSQL program to run as the server's user in its folder. The end of the
// context interrupts it.
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

// programs returns the program folder of Debian's newest PostgreSQL, which is not in PATH, or of
// another PostgreSQL; empty if there is none.
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

// unprivileged returns the user to run PostgreSQL as; nil for the current user.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		if _, err := user.LookupId(strconv.Itoa(os.Geteuid())); err != nil { // initdb needs the name
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
