package link

import (
	"errors"
	"slices"

	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	tool "nines.dev/nines/kernel/ethtool"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// featureGRO on a veth also turns NAPI on; without NAPI a device cannot be the target of an XDP
// redirect.
var featureGRO = tool.GRO

// offloads lists features and the wanted state of each, in the order of setting.
type offloads []struct {
	tool.Feature
	on bool
}

// offloadsOff are the offloads that are off on every device that packets are measured on, unless the
// file turns them on. (Ends of an xdp link still have GRO on.) A virtual link never fills in the
// checksums that are left to it: raw sockets would see wrong ones, and the work that a real wire
// demands would be missing.
var offloadsOff = offloadsOf(plan.Link{})

// groOn is for devices that are up: a veth that is down does not tell its peer that it may be the
// target of redirects (veth_set_features in drivers/net/veth.c).
var groOn = offloads{{featureGRO, true}}

// offloadsOf are those of a link's devices before they are up.
func offloadsOf(l plan.Link) offloads {
	has := func(o spec.Offload) bool { return slices.Contains(l.Offloads, o) }
	return offloads{
		{tool.TxChecksum, has(spec.OffloadChecksum)}, {tool.TSO, has(spec.OffloadTSO)}, {tool.GSO, has(spec.OffloadGSO)}, {tool.GRO, false},
	}
}

// ethtool is a socket for the ioctls in one namespace.
type ethtool struct{ *tool.Socket }

func openEthtool(ns *netns.Namespace) (*ethtool, error) {
	var e ethtool
	err := ns.Do(func() (err error) {
		e.Socket, err = tool.Open()
		return err
	})
	return &e, err
}

func (e *ethtool) close() { e.Close() }

// apply sets the offloads of a device and returns their state as the kernel then reports it. A
// feature that the device does not have is left out.
func (e *ethtool) apply(device string, wanted offloads) (map[string]string, error) {
	values := map[string]string{}
	for _, w := range wanted {
		// Not every device has every feature; the read-back shows the result.
		if err := e.Set(device, w.Feature, w.on); err != nil && !isUnsupported(err) && !errors.Is(err, unix.EINVAL) {
			return nil, err
		}
		now, err := e.Get(device, w.Feature)
		if w.on && (isUnsupported(err) || err == nil && !now) {
			return nil, exit.Lacksf("%s cannot be turned on: the device %s does not have it", w.Name, device)
		}
		if isUnsupported(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		values[w.Name] = onOff(now)
	}
	return values, nil
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
