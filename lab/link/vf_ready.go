package link

import (
	"context"
	"fmt"
	"time"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/exit"
	"nines.dev/nines/plan"
)

const (
	// vfPatience is how long one try waits for a virtual function's carrier. Its driver asks the
	// port's driver by messages, and if one is lost it sees no carrier until it restarts
	// (igbvf_watchdog_task in drivers/net/ethernet/intel/igbvf resets it only when packets wait).
	vfPatience = 8 * time.Second
	vfTries    = 5
)

// isVirtualFunction reports whether an interface is a virtual function with a kernel driver, whose
// port is up and has a carrier.
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

// awaitVF sets a virtual function up and waits for its carrier; if none comes, it restarts the
// function. Nothing else is set on the interface yet, as a restart would lose it.
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
	return &exit.MissingError{Capability: "a carrier of the virtual function " + name,
		Reason: fmt.Sprintf("its port has one, and it has seen none in %v", vfTries*vfPatience),
		Remedy: "ip link set PORT vf N state enable, or a newer driver of the card"}
}
