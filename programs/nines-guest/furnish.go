package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"nines.dev/nines/vm/boot"
	"nines.dev/nines/vm/guestagent"
)

// firstModules lists the files of the initramfs's modules; each comes after those that it
// needs.
const firstModules = "/modules.list"

// loadFirst loads the modules of the initramfs. A module without hardware in this machine
// may fail, with ENODEV.
func loadFirst() error {
	for file := range strings.FieldsSeq(readWhole(firstModules)) {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		err = unix.FinitModule(int(f.Fd()), "", 0)
		_ = f.Close()
		if err != nil && !errors.Is(err, unix.EEXIST) && !errors.Is(err, unix.ENODEV) {
			return fmt.Errorf("load %s: %w", file, err)
		}
	}
	return nil
}

// furnish prepares a root file system for commands.
func furnish(parameters boot.Parameters) error {
	for name, value := range map[string]string{
		"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:" + ownPrograms, "HOME": "/root", "LANG": "C.UTF-8", "TERM": "dumb",
	} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	if parameters.Name != "" {
		if err := unix.Sethostname([]byte(parameters.Name)); err != nil {
			return err
		}
	}
	if err := mountAll(parameters); err != nil {
		return err
	}
	for link, target := range map[string]string{
		"/dev/fd": "/proc/self/fd", "/dev/stdin": "/proc/self/fd/0", "/dev/stdout": "/proc/self/fd/1", "/dev/stderr": "/proc/self/fd/2",
	} {
		if err := os.Symlink(target, link); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if parameters.Cgroup != "" {
		if err := mountCgroups(parameters.Cgroup); err != nil {
			return err
		}
	}
	loadForDevices()
	for _, name := range parameters.Modules {
		if out, err := exec.Command("modprobe", name).CombinedOutput(); err != nil {
			logf("modprobe %s: %v: %s", name, err, out)
		}
	}
	return linkUp("lo")
}

// loadForDevices loads the modules of the existing devices, as udev does at boot.
func loadForDevices() {
	if _, err := exec.LookPath("modprobe"); err != nil {
		return
	}
	files, _ := filepath.Glob("/sys/bus/*/devices/*/modalias")
	var aliases []string
	for _, file := range files {
		if alias := strings.TrimSpace(readWhole(file)); alias != "" {
			aliases = append(aliases, alias)
		}
	}
	slices.Sort(aliases)
	// Many have no module; modprobe reports that by its exit code.
	_ = exec.Command("modprobe", append([]string{"--all", "--quiet", "--use-blacklist"}, slices.Compact(aliases)...)...).Run()
}

func linkUp(name string) error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	request, err := unix.NewIfreq(name)
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, request)
}

// serve answers the host, on one port for each of the machine's agents.
func serve() error {
	var ports []string
	err := awaitDevice("a port of virtio-serial", func() error {
		names, _ := filepath.Glob("/sys/class/virtio-ports/*/name")
		for _, path := range names {
			if strings.HasPrefix(readWhole(path), guestagent.PortPrefix) {
				ports = append(ports, "/dev/"+filepath.Base(filepath.Dir(path)))
			}
		}
		if len(ports) == 0 {
			return fmt.Errorf("ports with a name: %q", names)
		}
		return nil
	})
	if err != nil {
		return err
	}
	failed := make(chan error)
	for _, device := range ports {
		port, err := os.OpenFile(device, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		server := guestagent.Server{PowerOff: powerOff, Logf: logf}
		go func() { failed <- server.Serve(port) }()
	}
	go reapOrphans()
	return <-failed
}
