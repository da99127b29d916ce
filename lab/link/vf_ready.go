package link

import (
	"context"
	"fmt"
	"time"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/await"
	"nines.dev/nines/kernel/pci"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

const (
	// vfPatience is how long one try waits for a virtual function's carrier. Its driver asks the
	// port's driver by messages, and if one is lost it sees no carrier until it restarts
	// (igbvf_watchdog_task in drivers/net/ethernet/intel/igbvf resets it only when packets wait).
	vfPatience = 8 * time.Second
	vfTries    = 5
)

// functionOf returns the virtual function that an interface is; nil if it is none that the kernel
// drives.
func (s *Site) functionOf(node string, i plan.Interface) *plan.Function {
	for _, l := range s.Plan.Links {
		for _, e := range l.Endpoints {
			if l.Name == i.Link && e.Node == node && e.Interface == i.Name && isKernelFunction(l, e) {
				return &e.Function
			}
		}
	}
	return nil
}

func isKernelFunction(l plan.Link, e plan.Endpoint) bool {
	return l.Kind.Descriptor().End == spec.EndFunction && !e.Function.Whole() && e.Function.Driver == ""
}

// awaitVF sets a virtual function up and waits for its carrier; if none comes, it restarts the
// function. Nothing else is set on the interface yet, as a restart would lose it.
func awaitVF(ctx context.Context, handle *netlink.Handle, device netlink.Link, f *plan.Function) error {
	name := device.Attrs().Name
	for range vfTries {
		if err := handle.LinkSetUp(device); err != nil {
			return fmt.Errorf("set %s up: %w", name, err)
		}
		ready, err := await.InTime(ctx, await.Condition{
			What: name + " has a carrier", Within: vfPatience, Every: carrierEvery,
			Holds: func(context.Context) error { return await.Answer(carries(handle, name)) },
		})
		if ready || err != nil {
			return err
		}
		if err := handle.LinkSetDown(device); err != nil {
			return fmt.Errorf("set %s down: %w", name, err)
		}
	}
	return noCarrier(name, f)
}

// carrierEvery is how often a virtual function is asked for its carrier.
const carrierEvery = 10 * time.Millisecond

// carries reports whether an interface is up and has a carrier.
func carries(handle *netlink.Handle, name string) (bool, error) {
	device, err := handle.LinkByName(name)
	if err != nil {
		return false, fmt.Errorf("read the state of %s: %w", name, err)
	}
	return isReady(device), nil
}

// noCarrier tells whose fault it is that a virtual function has no carrier: its port may have none.
func noCarrier(name string, f *plan.Function) error {
	missing := &exit.MissingError{Capability: "a carrier of the virtual function " + name,
		Reason: "its port has one, and it was restarted several times",
		Remedy: "ip link set PORT vf N state enable, or a newer driver of the card"}
	if !(pci.Bus{}).HasCarrier(f.Port) {
		missing.Reason = "its port " + f.Name + " has none"
		missing.Remedy = "plug a cable in at both ends of the port, and set the port at its other end up"
	}
	return missing
}
