package pci

import (
	"fmt"

	"github.com/vishvananda/netlink"
)

// ReadVFSettings asks a physical function's interface in our network namespace for the
// settings of its VFs. It needs no privileges.
func ReadVFSettings(name string) ([]VFSettings, error) {
	device, err := netlink.LinkByName(name)
	if err != nil {
		return nil, fmt.Errorf("ask %s for its virtual functions: %w", name, err)
	}
	var list []VFSettings
	for _, vf := range device.Attrs().Vfs {
		list = append(list, VFSettings{
			Index: vf.ID, MAC: vf.Mac.String(), VLAN: vf.Vlan, QoS: vf.Qos, SpoofCheck: vf.Spoofchk, Trust: vf.Trust != 0,
			MinRateMbit: int(vf.MinTxRate), MaxRateMbit: int(max(vf.MaxTxRate, uint32(max(vf.TxRate, 0)))), LinkState: int(vf.LinkState),
		})
	}
	return list, nil
}
