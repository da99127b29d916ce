package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"nines.dev/nines/vm/boot"
)

const (
	cgroups    = "/sys/fs/cgroup"
	cgroupFlag = unix.MS_NOSUID | unix.MS_NOEXEC | unix.MS_NODEV
)

// mountCgroups mounts the control groups as a distribution does: version 2 alone, or a
// version 1 hierarchy for each controller, with (hybrid) or without one of version 2 next
// to them. systemd's named hierarchy is among those of version 1, because containers look
// for it.
func mountCgroups(layout boot.Cgroup) error {
	if layout == boot.CgroupV2 {
		if err := (mount{"cgroup2", cgroups, "cgroup2", cgroupFlag, "nsdelegate"}).do(); err != nil {
			return err
		}
		return enableAll(cgroups)
	}
	if err := (mount{"tmpfs", cgroups, "tmpfs", cgroupFlag, "mode=755"}).do(); err != nil {
		return err
	}
	controllers, err := controllersOfV1()
	if err != nil {
		return err
	}
	for _, name := range controllers {
		if err := (mount{"cgroup", cgroups + "/" + name, "cgroup", cgroupFlag, name}).do(); err != nil {
			// Some controllers exist only in version 2.
			logf("%v", err)
			_ = os.Remove(cgroups + "/" + name)
		}
	}
	if err := (mount{"cgroup", cgroups + "/systemd", "cgroup", cgroupFlag, "none,name=systemd"}).do(); err != nil {
		return err
	}
	if layout == boot.CgroupHybrid {
		return mount{"cgroup2", cgroups + "/unified", "cgroup2", cgroupFlag, "nsdelegate"}.do()
	}
	return nil
}

// controllersOfV1 are the kernel's controllers, combined as systemd combines them.
func controllersOfV1() ([]string, error) {
	text, err := os.ReadFile("/proc/cgroups")
	if err != nil {
		return nil, err
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		name, rest, _ := strings.Cut(line, "\t")
		switch {
		case strings.HasPrefix(line, "#"), strings.HasSuffix(strings.TrimSpace(rest), "\t0"): // disabled
		case name == "cpuacct", name == "net_prio":
		case name == "cpu":
			names = append(names, "cpu,cpuacct")
		case name == "net_cls":
			names = append(names, "net_cls,net_prio")
		default:
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, errors.New("the kernel has no control groups of version 1")
	}
	return names, nil
}

// enableAll enables all of a group's controllers for its children, as systemd does at the
// root.
func enableAll(group string) error {
	text, err := os.ReadFile(group + "/cgroup.controllers")
	if err != nil {
		return err
	}
	for name := range strings.FieldsSeq(string(text)) {
		if err := os.WriteFile(group+"/cgroup.subtree_control", []byte("+"+name), 0); err != nil {
			return fmt.Errorf("enable the controller %s: %w", name, err)
		}
	}
	return nil
}
