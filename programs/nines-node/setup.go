package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/vishvananda/netlink"

	"nines.dev/nines/kernel/await"
	"nines.dev/nines/kernel/netns"
	"nines.dev/nines/lab/link"
	"nines.dev/nines/lab/node"
	"nines.dev/nines/plan"
)

// setup makes the plan's interfaces out of the guest's devices, and prints what was set on
// them.
func setup(input io.Reader, output io.Writer) error {
	var wanted node.GuestSetup
	if err := json.NewDecoder(input).Decode(&wanted); err != nil {
		return fmt.Errorf("read the plan: %w", err)
	}
	planned := wanted.Plan.Node(wanted.Node)
	if planned == nil {
		return fmt.Errorf("the plan has no node %q", wanted.Node)
	}
	n := *planned
	self := link.Holder{PID: os.Getpid()}
	site := &link.Site{Plan: wanted.Plan, Nodes: map[string]link.Holder{n.Name: self}}
	if err := link.Quiet(self); err != nil {
		return err
	}
	kernel, err := takeDevices(n)
	if err != nil {
		return err
	}
	if err := site.Configure(context.Background(), n, kernel, nil); err != nil {
		return err
	}
	if err := writeSysctls(wanted.Sysctls); err != nil {
		return err
	}
	if err := node.WriteNamesInside(wanted.Plan, n); err != nil {
		return err
	}
	if err := json.NewEncoder(output).Encode(site.Settings()); err != nil {
		return err
	}
	return nil
}

// takeDevices renames the kernel's interfaces, and gives the functions of the others to
// DPDK. It returns the former.
func takeDevices(n plan.Node) ([]plan.Interface, error) {
	var kernel []plan.Interface
	for _, i := range n.Interfaces {
		device, err := findDevice(i)
		if err != nil {
			return nil, fmt.Errorf("interface %s:%s: %w", n.Name, i.Name, err)
		}
		if i.Device != nil && !i.Device.Kernel {
			if err := giveToPrograms(i.PCI, device.Attrs().Name); err != nil {
				return nil, fmt.Errorf("interface %s:%s: %w", n.Name, i.Name, err)
			}
			continue
		}
		if err := netlink.LinkSetName(device, i.Name); err != nil {
			return nil, fmt.Errorf("interface %s:%s: rename %s: %w", n.Name, i.Name, device.Attrs().Name, err)
		}
		if err := takeAddress(device, i.MAC); err != nil {
			return nil, fmt.Errorf("interface %s:%s: %w", n.Name, i.Name, err)
		}
		if err := netlink.LinkSetMTU(device, i.MTU); err != nil {
			return nil, fmt.Errorf("interface %s:%s: set the MTU to %d: %w", n.Name, i.Name, i.MTU, err)
		}
		kernel = append(kernel, i)
	}
	return kernel, nil
}

// devicePatience limits the wait for a driver to make its device.
const devicePatience = 20 * time.Second

// findDevice is the device of an interface: the one with its MAC, or, for a host's function
// that keeps its own MAC, the one at the plan's PCI address.
func findDevice(i plan.Interface) (netlink.Link, error) {
	function := filepath.Join("/sys/bus/pci/devices", i.PCI)
	if alias, err := os.ReadFile(filepath.Join(function, "modalias")); err == nil {
		// As udev would; virtio's module is loaded already, and most others are
		// modules too.
		_ = exec.Command("modprobe", strings.TrimSpace(string(alias))).Run()
	}
	var device netlink.Link
	err := await.Until(context.Background(), await.Condition{
		What: "a driver has made its device", Within: devicePatience, Every: 10 * time.Millisecond,
		Holds: func(context.Context) (err error) {
			if device, err = byMAC(i.MAC); err == nil {
				return nil
			}
			if names, _ := filepath.Glob(filepath.Join(function, "net", "*")); len(names) == 1 {
				device, err = netlink.LinkByName(filepath.Base(names[0]))
				return await.Never(err)
			}
			return err
		},
	})
	return device, err
}

// takeAddress gives a host's function the plan's MAC.
func takeAddress(device netlink.Link, mac string) error {
	wanted, err := net.ParseMAC(mac)
	if err != nil || slices.Equal(device.Attrs().HardwareAddr, wanted) {
		return err
	}
	if err := netlink.LinkSetHardwareAddr(device, wanted); err != nil {
		return fmt.Errorf("give %s the address %s: %w", device.Attrs().Name, mac, err)
	}
	return nil
}

// byMAC is the guest's device with a MAC.
func byMAC(mac string) (netlink.Link, error) {
	wanted, err := net.ParseMAC(mac)
	if err != nil {
		return nil, err
	}
	links, err := netns.Whole(netlink.LinkList)
	if err != nil {
		return nil, fmt.Errorf("list devices: %w", err)
	}
	var have []string
	for _, l := range links {
		if slices.Equal(l.Attrs().HardwareAddr, wanted) {
			return l, nil
		}
		have = append(have, fmt.Sprintf("%s %s", l.Attrs().Name, l.Attrs().HardwareAddr))
	}
	return nil, fmt.Errorf("the guest's kernel has no device with the address %s; its devices: %s", mac, strings.Join(have, ", "))
}

// programDrivers give a function to programs; a guest has no IOMMU that would limit it to
// the program's memory.
var programDrivers = []string{"uio_pci_generic", "vfio-pci"}

// giveToPrograms binds a device's function to a driver that gives it to DPDK.
func giveToPrograms(address, device string) error {
	path, err := filepath.EvalSymlinks(filepath.Join("/sys/class/net", device, "device"))
	if err != nil {
		return err
	}
	// virtio's device is on its own bus, below the function.
	for ; !strings.HasPrefix(filepath.Base(path), "0000:"); path = filepath.Dir(path) {
		if path == "/" {
			return fmt.Errorf("%s is not a function of PCI", device)
		}
	}
	if found := filepath.Base(path); found != address {
		return fmt.Errorf("the guest has %s at %s, and the plan at %s", device, found, address)
	}
	// vfio without an IOMMU must be enabled (VFIO_NOIOMMU); uio has no such switch.
	_ = os.WriteFile("/sys/module/vfio/parameters/enable_unsafe_noiommu_mode", []byte("1"), 0o644)
	var failures []error
	for _, driver := range programDrivers {
		if err := bind(path, driver); err != nil {
			failures = append(failures, err)
			continue
		}
		return nil
	}
	return fmt.Errorf("the guest's kernel has no driver that gives %s to DPDK; the kernel debian has one: %w", address, errors.Join(failures...))
}

// bind binds a function to a driver, Documentation/ABI/testing/sysfs-bus-pci.
func bind(function, driver string) error {
	address := filepath.Base(function)
	if _, err := os.Stat(filepath.Join("/sys/bus/pci/drivers", driver)); err != nil {
		return fmt.Errorf("%s: the guest's kernel has no such driver", driver)
	}
	if err := os.WriteFile(filepath.Join(function, "driver_override"), []byte(driver), 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(function, "driver", "unbind"), []byte(address), 0o644); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("unbind %s from its driver: %w", address, err)
	}
	if err := os.WriteFile("/sys/bus/pci/drivers_probe", []byte(address), 0o644); err != nil {
		return fmt.Errorf("give %s to %s: %w", address, driver, err)
	}
	now, err := os.Readlink(filepath.Join(function, "driver"))
	if err != nil || filepath.Base(now) != driver {
		return fmt.Errorf("%s does not accept %s", driver, address)
	}
	return nil
}

// writeSysctls writes the app's first and then the user's, which win.
func writeSysctls(list []map[string]string) error {
	for _, values := range list {
		names := make([]string, 0, len(values))
		for name := range values {
			names = append(names, name)
		}
		sort.Strings(names)
		for _, name := range names {
			if err := netns.WriteSysctl(name, values[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// inspect prints the guest's devices.
func inspect(output io.Writer) error {
	devices, err := link.Devices(link.Holder{PID: os.Getpid()})
	if err != nil {
		return err
	}
	return json.NewEncoder(output).Encode(devices)
}
