package control

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

// TestRequestsAreAnswered: what was asked for reaches the server, and its error the client. A server that closes
// ends what it does, and takes no more.
func TestRequestsAreAnswered(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	asked := Request{Nodes: []string{"a", "b"}, Do: "restart", Kill: true, By: "a test"}
	begun := make(chan struct{})
	server, err := Listen(path, func(ctx context.Context, got Request) error {
		switch {
		case got.Do == "wait":
			close(begun)
			<-ctx.Done()
			return ctx.Err()
		case !reflect.DeepEqual(got, asked):
			return fmt.Errorf("got %+v", got)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := Ask(t.Context(), path, asked); err != nil {
		t.Error(err)
	}
	if err := Ask(t.Context(), path, Request{Do: "stop"}); err == nil || err.Error() != "got {Nodes:[] Action: Do:stop Kill:false Fresh:false By:}" {
		t.Errorf("another request: %v", err)
	}
	waiting := make(chan error)
	go func() { waiting <- Ask(context.Background(), path, Request{Do: "wait"}) }()
	<-begun
	impatient, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	<-impatient.Done()
	if err := Ask(impatient, path, asked); !errors.Is(err, ErrClosed) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a client that has no time: %v", err)
	}
	server.Close()
	if err := <-waiting; err == nil || err.Error() != context.Canceled.Error() {
		t.Errorf("a request that the server's end cuts off: %v", err)
	}
	if err := Ask(t.Context(), path, asked); !errors.Is(err, ErrClosed) {
		t.Errorf("without a server: %v", err)
	}
	(*Server)(nil).Close()
}
