package link

import (
	"context"
	"fmt"

	"nines.dev/nines/plan"
)

// makeMemif joins two nodes by shared memory. There is nothing to make: the nodes' engines connect
// over a socket, in a folder that both see. The first endpoint's engine listens; the other's
// retries until the socket exists (DPDK's memif PMD, once a second).
func makeMemif(_ context.Context, s *Site, l plan.Link, endpoints []plan.Endpoint) error {
	if len(endpoints) != 2 {
		return fmt.Errorf("joins two endpoints, not %d", len(endpoints))
	}
	path := SocketPath(SocketsDir(s.StateDir), SocketOf(l, endpoints[0]))
	if err := CheckSocketPath(path); err != nil {
		return err
	}
	return RemoveStaleSocket(path)
}
