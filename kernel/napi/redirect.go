package napi

import (
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// From include/uapi/linux/netdev.h: the attributes of a device, and the XDP feature that it
// transmits frames redirected to it.
const (
	attributeDeviceIndex = 1
	attributeXDPFeatures = 3
	featureXDPTransmit   = 1 << 2 // NETDEV_XDP_ACT_NDO_XMIT
)

// TakesRedirects is true if a device is a veth that accepts frames that XDP programs
// redirect to it: while its other end uses NAPI, with GRO on or with its own XDP program.
// Network cards accept them only on some CPUs. Kernels before 6.3 do not report it: false.
func TakesRedirects(device string) (bool, error) {
	found, err := netlink.LinkByName(device)
	if err != nil {
		return false, fmt.Errorf("find %s: %w", device, err)
	}
	if found.Type() != "veth" {
		return false, nil
	}
	answers, err := call(commandDeviceGet, 0, nl.NewRtAttr(attributeDeviceIndex, nl.Uint32Attr(uint32(found.Attrs().Index))))
	if errors.Is(err, ErrNoFamily) || errors.Is(err, unix.EOPNOTSUPP) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask for the XDP features of %s: %w", device, err)
	}
	for _, a := range answers {
		values, err := numbers(a)
		if err != nil {
			return false, err
		}
		if values[attributeXDPFeatures]&featureXDPTransmit != 0 {
			return true, nil
		}
	}
	return false, nil
}
