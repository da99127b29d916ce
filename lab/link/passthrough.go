package link

import (
	"context"

	"nines.dev/nines/plan"
)

// makePassthrough gives two nodes whole devices of the host:
//
//	ip link set DEVICE netns NODE name IF
//
// The devices are joined outside the host; nines only waits for their carrier.
func makePassthrough(ctx context.Context, s *Site, l plan.Link, endpoints []plan.Endpoint) error {
	for _, e := range endpoints {
		if err := s.moveFunction(ctx, l, e, map[string]string{"pci": e.Function.Address}); err != nil {
			return err
		}
	}
	return nil
}
