package labtest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	"nines.dev/nines/test/postgres"
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

// Postgres starts Debian's PostgreSQL in a temporary folder, until the test ends.
func Postgres(t testing.TB) PostgresServer {
	t.Helper()
	s := PostgresServer{Host: "127.0.0.1", Port: freePort(t), User: "lab", Password: "s3cret-of-the-test"}
	server, err := postgres.Start(context.Background(), postgres.Options{
		User: s.User, Listen: s.Host, Port: s.Port, Password: s.Password,
		Settings: []string{"shared_buffers=16MB", "max_connections=20"},
	})
	if errors.Is(err, postgres.ErrMissing) {
		Require(t, err.Error(), false)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	s.Socket = server.Dir
	return s
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
