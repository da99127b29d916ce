package pci

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"nines.dev/nines/exit"
)

// The drivers that give a function to a program.
const (
	DriverVFIO   = "vfio-pci"
	DriverUIO    = "uio_pci_generic"
	DriverIGBUIO = "igb_uio"
)

// LoadDriver loads a driver's module if the kernel does not have the driver, as the kernel
// itself does for links. It is not unloaded later.
func (b Bus) LoadDriver(ctx context.Context, driver string) error {
	dir := filepath.Join(b.Root, "/sys/bus/pci/drivers", driver)
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	out, err := exec.CommandContext(ctx, "modprobe", "--", driver).CombinedOutput()
	if _, missing := os.Stat(dir); missing == nil {
		return nil
	}
	remedy := map[string]string{
		DriverVFIO:   "use a kernel with CONFIG_VFIO_PCI (apt-get install linux-image-amd64)",
		DriverUIO:    "use a kernel with CONFIG_UIO_PCI_GENERIC, or driver: vfio-pci",
		DriverIGBUIO: "apt-get install dpdk-kmods-dkms, or use driver: vfio-pci",
	}[driver]
	if text := strings.TrimSpace(string(out)); text != "" {
		err = errors.New(text)
	}
	return &exit.MissingError{Capability: "the driver " + driver, Reason: "its module cannot be loaded", Remedy: remedy, Err: err}
}

// Unbind takes a function from its driver. The driver's interface goes too, with all its
// settings.
func (b Bus) Unbind(ctx context.Context, address string) error {
	driver, err := b.boundTo(address)
	if driver == "" || err != nil {
		return err
	}
	if err := write(filepath.Join(b.device(address), "driver", "unbind"), address); err != nil {
		if now, unread := b.boundTo(address); now != "" || unread != nil {
			return fmt.Errorf("take %s from %s: %w", address, driver, err)
		}
	}
	return b.await(ctx, address+" has no driver", func() (bool, error) {
		now, err := b.boundTo(address)
		return now == "", err
	})
}

// SetOverride allows only one driver to bind a function; empty allows any that fits.
func (b Bus) SetOverride(address, driver string) error {
	now, err := b.Override(address)
	if now == driver || err != nil {
		return err
	}
	// A line end alone clears it (driver_set_override in drivers/base/driver.c).
	if err := write(filepath.Join(b.device(address), "driver_override"), driver+"\n"); err != nil {
		return fmt.Errorf("let only the driver %q have %s: %w", driver, address, err)
	}
	return nil
}

// Probe lets the kernel find a driver for a function and checks that it is driver; empty is
// any.
func (b Bus) Probe(ctx context.Context, address, driver string) error {
	if now := b.Driver(address); now != "" {
		if now == driver || driver == "" {
			return nil
		}
		return fmt.Errorf("%s has the driver %s, not %s", address, now, driver)
	}
	err := write(filepath.Join(b.Root, "/sys/bus/pci/drivers_probe"), address)
	if err == nil && b.Driver(address) == "" && driver != "" {
		// A probe does not report why a driver refused; binding by hand does.
		err = write(filepath.Join(b.Root, "/sys/bus/pci/drivers", driver, "bind"), address)
	}
	if b.Driver(address) == "" {
		if err == nil {
			err = errors.New("none that is loaded fits")
		}
		return fmt.Errorf("find a driver for %s: %w", address, err)
	}
	return nil
}

// Bind binds a function to a driver; empty is the kernel's own.
func (b Bus) Bind(ctx context.Context, address, driver string) error {
	override, err := b.Override(address)
	if err != nil {
		return err
	}
	if b.Driver(address) == driver && driver != "" && override == driver {
		return nil
	}
	if err := b.Unbind(ctx, address); err != nil {
		return err
	}
	if err := b.SetOverride(address, driver); err != nil {
		return err
	}
	return b.Probe(ctx, address, driver)
}

// FileNames are the device nodes by which a program drives a function, whether they are there or not: a
// container has a /dev of its own.
func (b Bus) FileNames(address string) []string {
	return deviceFiles(b.tree(), pciRoot+"/"+address, b.Driver(address))
}

// Files are the device nodes through which a program drives a function. The function is
// bound to one of the drivers for programs.
func (b Bus) Files(ctx context.Context, address string) ([]string, error) {
	var files []string
	err := b.await(ctx, "the device nodes of "+address+" are there", func() (bool, error) {
		files = b.FileNames(address)
		for _, file := range files {
			if _, err := os.Stat(filepath.Join(b.Root, file)); err != nil {
				return false, nil
			}
		}
		return len(files) > 0, nil
	})
	return files, err
}

// CheckGroup checks whether a program can use a function bound to vfio-pci, a virtual one as well: only if
// no other function of its IOMMU group is bound to one of the kernel's drivers, or claimed by another lab,
// whose program would have this one, too.
func (b Bus) CheckGroup(address, token string) error {
	for _, other := range companions(b.tree(), Function{Address: address, IOMMUGroup: iommuGroup(b.tree(), address)}) {
		name, _, bound := strings.Cut(other, " ")
		if bound {
			return fmt.Errorf("%s shares its IOMMU group with %s, and a program gets a whole group or nothing; put the card into another slot, or give that device to vfio-pci as well", address, other)
		}
		c, err := b.claimed(name)
		if err != nil {
			return err
		}
		if c != nil && !sameLab(c.Token, token) {
			return fmt.Errorf("%s shares its IOMMU group with %s, which the lab %s has, and a program gets all of a group; put the card into another slot", address, name, c.Lab)
		}
	}
	return nil
}
