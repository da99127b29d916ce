package link

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/cilium/ebpf"
	"github.com/vishvananda/netlink"

	"nines.dev/nines/kernel/netns"
)

// Device is the current state of a device.
type Device struct {
	Name string `json:"name"`
	// Alias is its second name, that of the file for one that the kernel takes no such name for; empty: none.
	Alias string `json:"alias,omitempty"`
	// Kind is the kernel's: "veth", "macvlan", "tuntap"; "device" for a network card.
	Kind string `json:"kind,omitempty"`
	// State is the kernel's operational state: "up", "down", "unknown".
	State      string   `json:"state"`
	MAC        string   `json:"mac"`
	MTU        int      `json:"mtu"`
	Addresses  []string `json:"addresses"`
	RxPackets  uint64   `json:"rx_packets"`
	TxPackets  uint64   `json:"tx_packets"`
	RxDropped  uint64   `json:"rx_dropped"`
	TxDropped  uint64   `json:"tx_dropped"`
	XDPProgram uint32   `json:"xdp_program,omitempty"`
	// Switch counts the frames of the learning switch, for a device that is a port of one; all
	// ports of a switch have the same counters.
	Switch *SwitchCounters `json:"switch,omitempty"`
}

// SwitchCounters are counters of the learning switch, in frames.
type SwitchCounters struct {
	Forwarded uint64 `json:"forwarded"`
	Flooded   uint64 `json:"flooded"`
	Dropped   uint64 `json:"dropped"`
}

// Devices lists the devices of a holder's namespace, without the loopback.
func Devices(h Holder) ([]Device, error) {
	var list []Device
	err := inside(h, func(_ *netns.Namespace, handle *netlink.Handle) error {
		links, err := netns.Whole(handle.LinkList)
		if err != nil {
			return fmt.Errorf("list devices: %w", err)
		}
		for _, l := range links {
			if l.Attrs().Name == "lo" {
				continue
			}
			d, err := inspect(handle, l)
			if err != nil {
				return err
			}
			list = append(list, d)
		}
		return nil
	})
	return list, err
}

func inspect(handle *netlink.Handle, l netlink.Link) (Device, error) {
	a := l.Attrs()
	d := Device{Name: a.Name, Alias: a.Alias, Kind: l.Type(), State: a.OperState.String(), MAC: a.HardwareAddr.String(), MTU: a.MTU, Addresses: []string{}}
	if s := a.Statistics; s != nil {
		d.RxPackets, d.TxPackets, d.RxDropped, d.TxDropped = s.RxPackets, s.TxPackets, s.RxDropped, s.TxDropped
	}
	addresses, err := netns.Whole(func() ([]netlink.Addr, error) { return handle.AddrList(l, netlink.FAMILY_ALL) })
	if err != nil {
		return d, fmt.Errorf("list addresses of %s: %w", a.Name, err)
	}
	for _, address := range addresses {
		d.Addresses = append(d.Addresses, address.IPNet.String())
	}
	if a.Xdp != nil && a.Xdp.ProgId != 0 {
		d.XDPProgram = a.Xdp.ProgId
		if d.Switch, err = switchCounters(a.Xdp.ProgId); err != nil {
			return d, fmt.Errorf("read the counters of %s: %w", a.Name, err)
		}
	}
	return d, nil
}

// switchCounters reads the counters of a learning switch; nil if the program is something else, or
// has just gone.
func switchCounters(id uint32) (*SwitchCounters, error) {
	program, err := ebpf.NewProgramFromID(ebpf.ProgramID(id))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer program.Close()
	info, err := program.Info()
	if err != nil {
		return nil, err
	}
	maps, _ := info.MapIDs()
	for _, id := range maps {
		m, err := ebpf.NewMapFromID(id)
		if err != nil {
			return nil, err
		}
		counters, err := readCounters(m)
		if err := errors.Join(err, m.Close()); err != nil || counters != nil {
			return counters, err
		}
	}
	return nil, nil
}

// readCounters returns nil for any other map than the counters. The kernel cuts names to 15 bytes
// (BPF_OBJ_NAME_LEN).
func readCounters(m *ebpf.Map) (*SwitchCounters, error) {
	info, err := m.Info()
	if err != nil || info.Name != "switch_counters"[:15] {
		return nil, err
	}
	var counters SwitchCounters
	for key, sum := range []*uint64{&counters.Forwarded, &counters.Flooded, &counters.Dropped} {
		var perCPU []uint64
		if err := m.Lookup(uint32(key), &perCPU); err != nil {
			return nil, err
		}
		for _, n := range perCPU {
			*sum += n
		}
	}
	return &counters, nil
}
