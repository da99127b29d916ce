package link

import (
	"context"
	"fmt"
	"time"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/host"
	"nines.dev/nines/plan"
)

const (
	// vfPatience is how long a virtual function may take for its carrier at a try. Its
	// driver asks the port's by messages, and where one was lost it sees no carrier until
	// it starts again (igbvf_watchdog_task in drivers/net/ethernet/intel/igbvf resets it
	// only when packets wait).
	vfPatience = 8 * time.Second
	vfTries    = 5
)

// isVirtualFunction tells whether an interface is the kernel's of a virtual function,
// whose port is up and has a carrier.
func (s *Site) isVirtualFunction(node string, i plan.Interface) bool {
	for _, l := range s.Plan.Links {
		for _, e := range l.Endpoints {
			if l.Name == i.Link && e.Node == node && e.Interface == i.Name {
				return l.Cabled() && e.Function.Driver == ""
			}
		}
	}
	return false
}

// awaitVF sets a virtual function up and waits for its carrier; it starts it again if
// none comes. Nothing else is set on it yet, as that would go with it.
func awaitVF(ctx context.Context, handle *netlink.Handle, device netlink.Link) error {
	name := device.Attrs().Name
	for range vfTries {
		if err := handle.LinkSetUp(device); err != nil {
			return fmt.Errorf("set %s up: %w", name, err)
		}
		for end := time.Now().Add(vfPatience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if err := ctx.Err(); err != nil {
				return err
			}
			now, err := handle.LinkByIndex(device.Attrs().Index)
			if err != nil {
				return fmt.Errorf("read the state of %s: %w", name, err)
			}
			if isReady(now) {
				return nil
			}
		}
		if err := handle.LinkSetDown(device); err != nil {
			return fmt.Errorf("set %s down: %w", name, err)
		}
	}
	return &host.MissingError{Capability: "a carrier of the virtual function " + name,
		Reason: fmt.Sprintf("its port has one, and it has seen none in %v", vfTries*vfPatience),
		Remedy: "ip link set PORT vf N state enable, or a newer driver of the card"}
}
