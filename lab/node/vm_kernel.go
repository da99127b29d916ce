package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"nines.dev/nines/busypoll/kbp"
	"nines.dev/nines/exit"
	"nines.dev/nines/host"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
	"nines.dev/nines/vm"
	"nines.dev/nines/vm/guestimage"
)

// vmKernel is what a machine boots from.
type vmKernel struct {
	kernel, initrd, modules string
	choice                  vm.Choice
}

// kernelKey identifies a machine's kernel and acceleration.
func kernelKey(n plan.Node) string { return n.VM.Kernel + " " + string(n.VM.Acceleration) }

// findKernel finds or fetches a kernel, and finds out how to execute its guests.
func (p Place) findKernel(ctx context.Context, n plan.Node) (vmKernel, error) {
	guest, err := Program("nines-guest")
	if err != nil {
		return vmKernel{}, err
	}
	store := guestimage.Store{Dir: guestimage.DefaultDir(), Guest: guest, Progress: p.Progress}
	k, err := openKernel(ctx, store, n.VM.Kernel)
	if err != nil {
		return vmKernel{}, err
	}
	found := vmKernel{kernel: k.Image, modules: k.Modules, choice: vm.Choice{Accelerator: vm.TCG, Reason: "the file says so (acceleration: tcg)"}}
	if n.VM.Acceleration != spec.AccelerationTCG {
		if found.choice, err = vm.Choose(ctx, k.Image, k.Initrd, store.Dir); err != nil {
			return vmKernel{}, err
		}
	}
	if n.VM.Acceleration == spec.AccelerationKVM && found.choice.Accelerator != vm.KVM {
		return vmKernel{}, &exit.MissingError{
			Capability: host.FeatureKVM, Reason: found.choice.Reason,
			Remedy: "enable KVM on the host (VT-x or AMD-V in the firmware, or nested virtualisation in a guest), or write acceleration: auto, with which timings mean nothing",
		}
	}
	found.initrd, err = p.guestInitrd(k)
	return found, err
}

// isLocal is true for a kernel that the host has: its own, or a file.
func isLocal(name string) bool { return name == "host" || filepath.IsAbs(name) }

func openKernel(ctx context.Context, store guestimage.Store, name string) (*guestimage.Kernel, error) {
	if isLocal(name) {
		return store.Local(ctx, name)
	}
	k, err := store.Kernel(ctx, name)
	if err != nil && ctx.Err() == nil && exit.Code(err) != exit.Lacks {
		return nil, exit.Lacking(&exit.MissingError{
			Capability: "a kernel for virtual machines", Reason: fmt.Sprintf("the kernel %q could not be fetched", name), Err: err,
			Remedy: "check that apt-get update works, or name a mirror of Debian in NINES_DEBIAN_MIRROR; offline, vm: {kernel: host} or the path of a kernel's image needs no mirror",
		})
	}
	return k, err
}

// guestInitrd is a kernel's initramfs followed by the additional files of a node's guest. Linux
// unpacks one archive after the other (Documentation/driver-api/early-userspace/).
func (p Place) guestInitrd(k *guestimage.Kernel) (string, error) {
	dir := filepath.Join(p.StateDir, machinesFolder)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "initrd-"+k.Version)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	files, err := guestFiles(k.Version)
	if err != nil {
		return "", err
	}
	out, err := os.Create(path + ".new")
	if err != nil {
		return "", err
	}
	base, err := os.Open(k.Initrd)
	if err == nil {
		_, err = io.Copy(out, base)
		_ = base.Close()
	}
	if err == nil {
		err = guestimage.Overlay(out, files)
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return "", fmt.Errorf("write the guest's initramfs: %w", err)
	}
	return path, os.Rename(path+".new", path)
}

// guestFiles are busybox with its applets, nines' programs for guests, and the module kbp if it was built for the guest's
// kernel. What a guest needs whose root is an image is in nines' own folder.
func guestFiles(kernel string) ([]guestimage.File, error) {
	shell, err := guestShell()
	if err != nil {
		return nil, err
	}
	files := []guestimage.File{
		{Name: "bin/busybox", Path: shell}, {Name: guestShellPath, Path: shell},
		// An image may have no program to load the modules of its devices.
		{Name: strings.TrimPrefix(containerFolder, "/") + "/modprobe", Target: "busybox"},
	}
	for _, name := range []string{guestEngine, GuestNode, GuestScript, GuestPoller} {
		program, err := Program(filepath.Base(name))
		if err != nil {
			return nil, err
		}
		files = append(files, guestimage.File{Name: name, Path: program})
	}
	if module, err := kbp.Find(kernel); err == nil {
		below, err := filepath.Rel(filepath.Dir(kbp.CacheDir()), module)
		if err != nil {
			return nil, err
		}
		files = append(files, guestimage.File{Name: filepath.Join(GuestCache, below), Path: module})
	}
	applets, err := exec.Command(shell, "--list").Output()
	if err != nil {
		return nil, fmt.Errorf("busybox --list: %w", err)
	}
	for _, applet := range strings.Fields(string(applets)) {
		if applet != "busybox" {
			files = append(files, guestimage.File{Name: "bin/" + applet, Target: "busybox"})
		}
	}
	return files, nil
}

// guestShellPath is busybox in a guest.
const guestShellPath = containerFolder + "/busybox"

// guestShell is busybox, the shell and the tools of guests.
func guestShell() (string, error) {
	path, err := exec.LookPath("busybox")
	if err != nil {
		return "", &exit.MissingError{
			Capability: "busybox-static", Reason: "busybox is missing, and a virtual machine needs it as its shell",
			Remedy: "apt-get install busybox-static, or use another runtime than vm",
		}
	}
	return path, nil
}
