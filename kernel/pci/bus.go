package pci

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"nines.dev/nines/kernel/await"
	"nines.dev/nines/kernel/files"
	"nines.dev/nines/kernel/flock"
)

// Bus is where PCI functions are found and changed. The zero value is the host's; tests use
// others.
type Bus struct {
	// Root is put before /sys and /run.
	Root string
	// Patience limits every wait for the kernel; 0 is defaultPatience.
	Patience time.Duration
}

// defaultPatience limits the wait for udev, or for a driver that was told to bind a
// function. Firmware of some cards takes seconds to reset a function.
const defaultPatience = 30 * time.Second

func (b Bus) patience() time.Duration {
	if b.Patience > 0 {
		return b.Patience
	}
	return defaultPatience
}

func (b Bus) device(address string) string { return filepath.Join(b.Root, pciRoot, address) }

func (b Bus) claims() string { return filepath.Join(b.Root, ClaimsDir) }

// Exists reports whether the host has a function.
func (b Bus) Exists(address string) (bool, error) {
	_, err := os.Lstat(b.device(address))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Lock serialises changes of a function, and of the VFs of a physical one, among all
// processes of the host. It locks the function's folder in sysfs, so it leaves no file
// behind, and the kernel releases it with the process. Another lab may hold it for as long
// as its drivers take; the wait ends with ctx.
func (b Bus) Lock(ctx context.Context, address string) (unlock func(), err error) {
	lock, err := flock.Folder(ctx, b.device(address))
	switch {
	case err == nil:
		return func() { _ = lock.Free() }, nil
	case errors.Is(err, fs.ErrNotExist):
		return func() {}, nil // nothing to change
	case ctx.Err() != nil:
		return nil, fmt.Errorf("wait for another lab to release %s: %w", address, err)
	}
	return nil, fmt.Errorf("lock %s: %w", address, err)
}

// Driver is the driver that a function is bound to; empty if there is none, or none can be seen.
func (b Bus) Driver(address string) string {
	return driverOf(b.tree(), address)
}

// boundTo is Driver for who must not take what cannot be seen for none.
func (b Bus) boundTo(address string) (string, error) {
	target, err := b.tree().ReadLink(pciRoot + "/" + address + "/driver")
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return filepath.Base(target), nil
}

// Override is the only driver that may bind a function; empty for any that fits.
func (b Bus) Override(address string) (string, error) {
	text, err := b.read(address, "driver_override")
	if text == "(null)" {
		return "", err
	}
	return text, err
}

// read is empty if a function has no such file.
func (b Bus) read(address, file string) (string, error) {
	text, err := os.ReadFile(filepath.Join(b.device(address), file))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

// tree is where functions are read from.
func (b Bus) tree() Tree { return b.busTree() }

func (b Bus) busTree() busTree { return busTree{files.Dir(b.Root + "/")} }

type busTree struct{ files.Dir }

func (busTree) VFSettings(nic string) ([]VFSettings, error) { return ReadVFSettings(nic) }

// Functions are the physical functions of network cards, by address.
func (b Bus) Functions() []Function { return ReadFunctions(b.tree()) }

// write writes to a sysfs file and returns the kernel's error.
func write(path, value string) error {
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("write %q: %w", strings.TrimSpace(value), err)
	}
	_, err = file.WriteString(value)
	if err := errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write %q: %w", strings.TrimSpace(value), err)
	}
	return nil
}

// await waits until a condition holds. Most of it has happened when a write to sysfs
// returns; the rest, such as udev's renaming, sends no common event.
func (b Bus) await(ctx context.Context, what string, condition func() (bool, error)) error {
	return await.Until(ctx, await.Condition{
		What: what, Within: b.patience(), Every: time.Millisecond, UpTo: 50 * time.Millisecond,
		Holds: func(context.Context) error { return await.Answer(condition()) },
	})
}
