package link

import (
	"errors"

	"golang.org/x/sys/unix"

	tool "nines.dev/nines/kernel/ethtool"
	"nines.dev/nines/kernel/netns"
)

// featureGRO on a veth also turns NAPI on; without NAPI a device cannot be the target of an XDP
// redirect.
var featureGRO = tool.GRO

// offloads lists features and the wanted state of each, in the order of setting.
type offloads []struct {
	tool.Feature
	on bool
}

// offloadsOff are the offloads that are off on every device that packets are measured on. (Ends of
// an xdp link still have GRO on.) A virtual link never fills in the checksums that are left to it:
// raw sockets would see wrong ones, and the work that a real wire demands would be missing.
var offloadsOff = offloads{
	{tool.TxChecksum, false}, {tool.TSO, false}, {tool.GSO, false}, {tool.GRO, false},
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
