package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	securejoin "github.com/cyphar/filepath-securejoin"

	"nines.dev/nines/exit"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// rootfs is a container's root file system: LXC's path for it, and what is mounted
// into it.
type rootfs struct {
	path  string
	binds []bind
}

// bases make the folder that a container's files are changes to, for root file systems with one.
var bases = map[spec.RootfsKind]func(Place, context.Context, spec.Rootfs) (string, error){
	spec.RootfsDebian: Place.debian,
}

// containerFolders are in every minimal root file system.
var containerFolders = []string{
	"bin", "dev", "etc", "nines", "proc", "root", "run", "sys", "tmp", "usr", "var",
}

// makeRootfs makes all files that a container needs, in the lab's folder. A container that is started
// again has them.
func (p Place) makeRootfs(ctx context.Context, n plan.Node) (rootfs, error) {
	dir := filepath.Join(p.lxcPath(), n.HostName)
	if !p.Again {
		if err := os.RemoveAll(dir); err != nil {
			return rootfs{}, err
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return rootfs{}, err
		}
	}
	if n.Image != nil || n.Rootfs != nil && bases[n.Rootfs.Kind] != nil {
		base, err := p.baseRoot(ctx, n)
		if err != nil {
			return rootfs{}, err
		}
		upper := filepath.Join(dir, "changes")
		// LXC mounts the overlay in the container's mount namespace.
		overlay := rootfs{path: "overlay:" + base + ":" + upper}
		if p.Again {
			return overlay, nil
		}
		if err := os.Mkdir(upper, 0o755); err != nil {
			return rootfs{}, err
		}
		if UsesSystemd(n) {
			err = writeSystemd(n, upper)
		}
		return overlay, err
	}
	return p.minimal(n, filepath.Join(dir, "rootfs"))
}

// baseRoot is the folder that the container's files are changes to: its image, or what its root file system is based on.
func (p Place) baseRoot(ctx context.Context, n plan.Node) (string, error) {
	if n.Image == nil {
		return bases[n.Rootfs.Kind](p, ctx, *n.Rootfs)
	}
	kept := p.lxcImageFile(n)
	unpacked, err := p.imageOf(ctx, n, kept)
	if err != nil {
		return "", err
	}
	if !UsesSystemd(n) {
		return unpacked.Root, keepImage(kept, unpacked)
	}
	program, err := securejoin.SecureJoin(unpacked.Root, systemdProgram)
	if err == nil {
		_, err = os.Lstat(program)
	}
	if err != nil {
		return "", exit.Wrongf("the image %s has no systemd, which rootfs: {init: systemd} needs: %w; add the packages systemd, systemd-sysv and dbus to it, or remove init", n.Image.Name, err)
	}
	return unpacked.Root, keepImage(kept, unpacked)
}

// lxcImageFile says which image a container of LXC is of.
func (p Place) lxcImageFile(n plan.Node) string {
	return filepath.Join(p.lxcPath(), n.HostName, "image.json")
}

// minimal makes a root file system with busybox, iproute2 and a shell: /bin is read-only and shared by the lab's
// containers, the rest is the container's own.
func (p Place) minimal(n plan.Node, root string) (rootfs, error) {
	bin, err := p.busybox()
	if err != nil {
		return rootfs{}, err
	}
	whole := rootfs{path: "dir:" + root, binds: []bind{{bin, "/bin", false, true}}}
	if p.Again {
		return whole, nil
	}
	for _, folder := range containerFolders {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil {
			return rootfs{}, err
		}
	}
	for name, target := range map[string]string{
		"sbin": "bin", "usr/bin": "../bin", "usr/sbin": "../bin", "var/run": "../run", "var/tmp": "../tmp",
	} {
		if err := os.Symlink(target, filepath.Join(root, name)); err != nil {
			return rootfs{}, err
		}
	}
	for name, text := range map[string]string{
		"passwd":   "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n",
		"group":    "root:x:0:\nnogroup:x:65534:\n",
		"hostname": n.HostName + "\n",
	} {
		if err := os.WriteFile(filepath.Join(root, "etc", name), []byte(text), 0o644); err != nil {
			return rootfs{}, err
		}
	}
	if err := linkTools(root); err != nil {
		return rootfs{}, err
	}
	if err := os.Chmod(filepath.Join(root, "tmp"), 0o777|os.ModeSticky); err != nil {
		return rootfs{}, err
	}
	return whole, nil
}

// busyboxOnce keeps two containers that start at the same time from making the same files.
var busyboxOnce sync.Mutex

// busybox makes the lab's shared /bin: busybox and a link for each of its applets.
func (p Place) busybox() (string, error) {
	busyboxOnce.Lock()
	defer busyboxOnce.Unlock()
	bin := filepath.Join(p.lxcPath(), "bin")
	if isDir(bin) {
		return bin, nil
	}
	program, err := exec.LookPath("busybox")
	if err != nil {
		return "", missingBusybox("busybox is missing")
	}
	applets, err := exec.Command(program, "--list").Output()
	if err != nil {
		return "", fmt.Errorf("busybox --list: %w", err)
	}
	text, err := os.ReadFile(program)
	if err != nil {
		return "", err
	}
	if strings.Contains(string(text), "/lib64/ld-linux") || strings.Contains(string(text), "/lib/ld-") {
		return "", missingBusybox(program + " is not static")
	}
	next := bin + ".new"
	if err := errors.Join(os.RemoveAll(next), os.MkdirAll(next, 0o755)); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(next, "busybox"), text, 0o755); err != nil {
		return "", err
	}
	for _, applet := range strings.Fields(string(applets)) {
		err := os.Symlink("busybox", filepath.Join(next, applet))
		if err != nil && applet != "busybox" {
			return "", err
		}
	}
	if err := addTools(next); err != nil {
		return "", err
	}
	return bin, os.Rename(next, bin)
}

func missingBusybox(reason string) error {
	return &exit.MissingError{
		Capability: "busybox-static", Reason: reason,
		Remedy: "apt-get install busybox-static, or use rootfs: {kind: debian} or runtime: netns",
	}
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
