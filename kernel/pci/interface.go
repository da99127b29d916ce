package pci

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/ethtool"
)

// Interface is the kernel's interface of a function, in our network namespace; empty
// if it has none there.
func (b Bus) Interface(address string) string { return interfaceOf(b.tree(), address) }

// AddressOf is the address of the function that an interface of our network namespace is of; empty if it is of
// none, or not there.
func (b Bus) AddressOf(name string) string {
	target, _ := b.tree().ReadLink(netRoot + "/" + name) // what is not there has no address in it
	return AddressIn(target)
}

// addressPattern is domain:bus:device.function, as in /sys/bus/pci/devices.
var addressPattern = regexp.MustCompile(`^[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`)

// AddressIn is that of the function nearest to what a link in sysfs leads to, such as
// ../../devices/pci0000:00/0000:00:03.0/virtio2/net/eth0; empty for none.
func AddressIn(target string) string {
	address := ""
	for part := range strings.SplitSeq(target, "/") {
		if addressPattern.MatchString(part) {
			address = part
		}
	}
	return address
}

// AwaitInterface waits until the kernel's driver has made an interface of a function,
// and udev, where it runs, has named it.
func (b Bus) AwaitInterface(ctx context.Context, address string) (string, error) {
	name := ""
	err := b.await(ctx, fmt.Sprintf("the driver %q makes an interface of %s", b.Driver(address), address), func() (bool, error) {
		name = b.Interface(address)
		return name != "" && b.named(name), nil
	})
	return name, err
}

// named is true once udev has processed an interface: its database has an entry
// (sd_device_get_is_initialized in systemd's sd-device.c), or udev does not run.
func (b Bus) named(name string) bool {
	if _, err := os.Stat(filepath.Join(b.Root, "/run/udev/control")); err != nil {
		return true
	}
	index, err := os.ReadFile(filepath.Join(b.Root, "/sys/class/net", name, "ifindex"))
	if err != nil {
		return false // renamed just now
	}
	number, err := strconv.Atoi(string(index[:max(0, len(index)-1)]))
	if err != nil {
		return false
	}
	_, err = os.Stat(filepath.Join(b.Root, fmt.Sprintf("/run/udev/data/n%d", number)))
	return err == nil
}

// face is the state of an interface that a lab changes before it gives it to a node.
type face struct {
	Name string `json:"name"`
	MAC  string `json:"mac"`
	MTU  int    `json:"mtu"`
	// Offloads are those that it supports, by name.
	Offloads map[string]bool `json:"offloads,omitempty"`
	// Sysctls are the interface's kernel settings.
	Sysctls map[string]string `json:"sysctls,omitempty"`
}

// readFace is nil if the function has no interface in our namespace.
func (b Bus) readFace(address string) (*face, error) {
	name, err := findInterface(b.tree(), address)
	if name == "" || err != nil {
		return nil, err
	}
	device, err := netlink.LinkByName(name)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	a := device.Attrs()
	f := face{Name: name, MAC: a.HardwareAddr.String(), MTU: a.MTU, Offloads: map[string]bool{}, Sysctls: b.sysctls(name)}
	socket, err := ethtool.Open()
	if err != nil {
		return nil, err
	}
	defer socket.Close()
	for _, feature := range ethtool.Features {
		if on, err := socket.Get(name, feature); err == nil { // it lacks the others
			f.Offloads[feature.Name] = on
		}
	}
	return &f, nil
}

// restoreOffloads sets the offloads that differ.
func restoreOffloads(name string, old map[string]bool) error {
	socket, err := ethtool.Open()
	if err != nil {
		return err
	}
	defer socket.Close()
	for _, feature := range ethtool.Features {
		was, had := old[feature.Name]
		if !had {
			continue
		}
		now, err := socket.Get(name, feature)
		if errors.Is(err, unix.EOPNOTSUPP) { // it lacks it now
			continue
		}
		if err != nil {
			return err
		}
		if now == was {
			continue
		}
		if err := socket.Set(name, feature, was); err != nil {
			return err
		}
	}
	return nil
}

// restoreFace restores an interface's name, address, MTU, offloads and settings.
func (b Bus) restoreFace(ctx context.Context, address string, old face) error {
	name, err := b.AwaitInterface(ctx, address)
	if err != nil {
		return err
	}
	device, err := netlink.LinkByName(name)
	if err != nil {
		return fmt.Errorf("find %s: %w", name, err)
	}
	if name != old.Name {
		// An interface that is up cannot be renamed (dev_change_name, before Linux
		// 6.2).
		if err := netlink.LinkSetDown(device); err != nil {
			return fmt.Errorf("set %s down: %w", name, err)
		}
		if err := netlink.LinkSetName(device, old.Name); err != nil {
			return fmt.Errorf("name %s %s again: %w", name, old.Name, err)
		}
	}
	if device.Attrs().MTU != old.MTU {
		if err := netlink.LinkSetMTU(device, old.MTU); err != nil {
			return fmt.Errorf("set the MTU of %s to %d again: %w", old.Name, old.MTU, err)
		}
	}
	if err := restoreOffloads(old.Name, old.Offloads); err != nil {
		return err
	}
	if device.Attrs().HardwareAddr.String() != old.MAC && old.MAC != "" {
		mac, err := net.ParseMAC(old.MAC)
		if err != nil {
			return err
		}
		if err := netlink.LinkSetHardwareAddr(device, mac); err != nil {
			return errors.Join(fmt.Errorf("set the address of %s to %s again", old.Name, old.MAC), err)
		}
	}
	return b.restoreSysctls(old.Name, old.Sysctls) // includes the MTU of IPv6, so after the device's
}
