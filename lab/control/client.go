package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"
)

// ErrClosed is a lab that is measured and takes no requests: it is being made, or taken down.
var ErrClosed = errors.New("the process that measures the lab takes no requests just now")

// Ask asks the process that measures a lab, at its socket, to do something, and waits until it is done.
func Ask(ctx context.Context, path string, request Request) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := json.NewEncoder(conn).Encode(request); err != nil {
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	var said answer
	switch err := json.NewDecoder(conn).Decode(&said); {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil:
		return fmt.Errorf("the process that measures the lab has ended before it answered: %w", err)
	case said.Problem != "":
		return errors.New(said.Problem)
	}
	return nil
}
