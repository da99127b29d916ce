package pod

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"nines.dev/nines/engine/client"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/test/labtest"
)

// relayed serves a real engine of this host as Relay would serve one in a pod, and returns its socket.
func relayed(t *testing.T) (socket string, engine *exec.Cmd, ended chan error) {
	t.Helper()
	path, err := node.Program("nines-engine")
	labtest.Require(t, "nines-engine (make build, NINES_LIBEXEC)", err == nil)
	socket = filepath.Join(t.TempDir(), "engine.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	engine = exec.Command(path)
	started := make(chan struct{})
	ended = make(chan error, 1)
	go func() {
		ended <- Relay(ctx, listener, func(ctx context.Context, s Streams) error {
			input, err := engine.StdinPipe()
			if err != nil {
				return err
			}
			engine.Stdout, engine.Stderr = s.Stdout, s.Stderr
			if err := engine.Start(); err != nil {
				return err
			}
			close(started)
			go func() {
				_, _ = io.Copy(input, s.Stdin)
				_ = input.Close()
			}()
			stop := context.AfterFunc(ctx, func() { _ = engine.Process.Kill() })
			defer stop()
			return engine.Wait()
		}, os.Stderr)
	}()
	<-started
	t.Cleanup(func() {
		cancel()
		_ = engine.Process.Kill()
	})
	return socket, engine, ended
}

func dial(t *testing.T, socket string) *client.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := client.Dial(ctx, socket)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestClientsComeAndGo: what one client opens is there for the next, and neither a client that leaves
// in the middle of a line nor one that does not wait for its answer disturbs those after it.
func TestClientsComeAndGo(t *testing.T) {
	socket, _, _ := relayed(t)
	first := dial(t, socket)
	if _, err := first.Hello(); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Open(client.Port{Name: "a", Backend: "memory", Interface: "loop0", FrameBytes: 64, Wait: "spin"}); err != nil {
		t.Fatal(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	for _, rude := range []string{`{"cmd":"he`, `{"cmd":"hello"}` + "\n", "\n"} {
		conn, err := net.Dial("unix", socket)
		if err == nil {
			_, err = io.WriteString(conn, rude)
		}
		if err == nil {
			err = conn.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	second := dial(t, socket)
	result, err := second.Trial(client.Trial{Role: "loop", Streams: []client.Stream{{Tx: "a", Rx: "a", RatePPS: 1000}}, CPU: -1, DurationNs: 1e9, DrainNs: 1e6}, client.Events{})
	if err != nil || result.TxPackets == 0 {
		t.Errorf("a trial over the port of another client: %d packets, %v", result.TxPackets, err)
	}
	if err := second.ClosePort("a"); err != nil {
		t.Error(err)
	}
}

// TestAnEngineThatEnds ends the relay, and its clients get an error.
func TestAnEngineThatEnds(t *testing.T) {
	socket, engine, ended := relayed(t)
	c := dial(t, socket)
	if _, err := c.Hello(); err != nil {
		t.Fatal(err)
	}
	if err := engine.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Hello(); !errors.Is(err, client.ErrGone) {
		t.Errorf("its client is told %v", err)
	}
	select {
	case err := <-ended:
		if err == nil {
			t.Error("the relay does not say how the engine ended")
		}
	case <-time.After(time.Minute):
		t.Error("the relay goes on without an engine")
	}
}

// TestAnEngineThatIsGoneIsNobodysTurn: a poller that checks now and then finds that it is gone,
// and a client that comes at this moment must not wait for that poller.
func TestAnEngineThatIsGoneIsNobodysTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		input, toEngine := io.Pipe()
		if err := input.Close(); err != nil {
			t.Fatal(err)
		}
		r := &relay{engine: toEngine}
		r.stayAlive(t.Context())
		if !r.turn.TryLock() {
			t.Error("the turn is taken for ever")
		}
	})
}
