package labtest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// PostgresServer is a server of the test's own: nothing of the host's is touched.
type PostgresServer struct {
	// Host and Port are where it listens, and Socket is its folder of Unix sockets.
	Host, Socket string
	Port         int
	// User is a superuser; over TCP it has to say Password.
	User, Password string
}

// URL is that of a database, without the password.
func (s PostgresServer) URL(database string) string {
	return fmt.Sprintf("postgres://%s@%s:%d/%s?sslmode=disable", s.User, s.Host, s.Port, database)
}

// Postgres starts Debian's PostgreSQL in a temporary folder, until the test ends. The
// server refuses to run as root, so that it then runs as postgres, or nobody.
func Postgres(t testing.TB) PostgresServer {
	t.Helper()
	bin := postgresPrograms()
	Require(t, "PostgreSQL's initdb and postgres (package postgresql)", bin != "")
	as := unprivileged(t)

	// Not t.TempDir: the path of a Unix socket must be short, and its folders open to
	// the other user.
	dir, err := os.MkdirTemp("/tmp", "ninespg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	server := PostgresServer{Host: "127.0.0.1", Socket: dir, Port: freePort(t), User: "lab", Password: "s3cret-of-the-test"}
	passwords := filepath.Join(dir, "password")
	if err := os.WriteFile(passwords, []byte(server.Password+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if as != nil {
		for _, path := range []string{dir, passwords} {
			if err := os.Chown(path, int(as.Uid), int(as.Gid)); err != nil {
				t.Fatal(err)
			}
		}
	}
	data := filepath.Join(dir, "data")
	if out, err := postgresCommand(dir, as, filepath.Join(bin, "initdb"), "-D", data, "-U", server.User, "--no-sync", "--encoding=UTF8", "--locale=C",
		"--auth-local=trust", "--auth-host=scram-sha-256", "--pwfile="+passwords).CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	var log bytes.Buffer
	postgres := postgresCommand(dir, as, filepath.Join(bin, "postgres"), "-D", data, "-k", dir, "-p", strconv.Itoa(server.Port),
		"-c", "listen_addresses="+server.Host, "-c", "fsync=off", "-c", "shared_buffers=16MB", "-c", "max_connections=20")
	postgres.Stdout, postgres.Stderr = &log, &log
	ended := startWithUs(t, postgres)
	t.Cleanup(func() {
		_ = postgres.Process.Signal(os.Interrupt) // "fast shutdown"
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			_ = postgres.Process.Kill()
			<-ended
		}
	})
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		err := postgresCommand(dir, as, filepath.Join(bin, "pg_isready"), "-q", "-h", dir, "-p", strconv.Itoa(server.Port)).Run()
		if err == nil {
			break
		}
		select {
		case <-ended:
			t.Fatalf("postgres ended:\n%s", log.String())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("postgres does not answer: %v", err)
		}
	}
	return server
}

// startWithUs starts a process that the kernel ends when this one dies, even of
// SIGKILL. The signal comes when the thread ends that started it, which therefore
// waits for it.
func startWithUs(t testing.TB, command *exec.Cmd) <-chan struct{} {
	t.Helper()
	command.SysProcAttr.Pdeathsig = syscall.SIGQUIT // "immediate shutdown"
	started, ended := make(chan error, 1), make(chan struct{})
	go func() {
		runtime.LockOSThread()
		err := command.Start()
		started <- err
		if err == nil {
			_ = command.Wait()
		}
		close(ended)
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	return ended
}

func postgresCommand(dir string, as *syscall.Credential, name string, args ...string) *exec.Cmd {
	command := exec.Command(name, args...)
	command.Dir = dir
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "TZ=UTC"}
	command.SysProcAttr = &syscall.SysProcAttr{Credential: as, Setpgid: true}
	return command
}

// postgresPrograms is the folder of the newest PostgreSQL of Debian, whose programs
// are not in PATH.
func postgresPrograms() string {
	folders, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	for i := len(folders) - 1; i >= 0; i-- {
		if _, err := os.Stat(filepath.Join(folders[i], "initdb")); err == nil {
			return folders[i]
		}
	}
	if path, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(path)
	}
	return ""
}

// unprivileged is the user to run PostgreSQL as; nil for the one we are.
func unprivileged(t testing.TB) *syscall.Credential {
	t.Helper()
	if os.Geteuid() != 0 {
		_, err := user.Current()
		if err == nil {
			_, err = user.LookupId(strconv.Itoa(os.Geteuid())) // initdb asks for the name
		}
		Require(t, "a name for the user "+strconv.Itoa(os.Geteuid())+", which PostgreSQL wants", err == nil)
		return nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		if found, err := user.Lookup(name); err == nil {
			uid, _ := strconv.ParseUint(found.Uid, 10, 32)
			gid, _ := strconv.ParseUint(found.Gid, 10, 32)
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		}
	}
	Require(t, "a user postgres or nobody", false)
	return nil
}

func freePort(t testing.TB) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}
