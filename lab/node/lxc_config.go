package node

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// The paths of nines' own files in every container.
const (
	containerFolder = "/nines"
	containerInit   = containerFolder + "/nines-init"
	// containerEngine is nines-engine.
	containerEngine = containerFolder + "/nines-engine"
	// containerSockets has the folders of the sockets of the container's own endpoints.
	containerSockets = containerFolder + "/sockets"
	// containerScriptCommand is nines-script, containerScripts has the container's folder of scripts.
	containerScriptCommand = containerFolder + "/nines-script"
	containerScripts       = containerFolder + "/scripts"
)

// bind is a bind mount from the host into a container.
type bind struct {
	source, target string
	file, readOnly bool
}

// lxcConfig is the container's configuration, lxc.container.conf(5). The container joins the network
// that waits for it; package link adds the interfaces. profile is the file of the seccomp profile.
func (p Place) lxcConfig(n plan.Node, root rootfs, groups groups, token, profile string) (string, error) {
	var b strings.Builder
	set := func(key, format string, values ...any) {
		fmt.Fprintf(&b, "%s = %s\n", key, fmt.Sprintf(format, values...))
	}
	set("lxc.uts.name", "%s", n.HostName)
	set("lxc.rootfs.path", "%s", root.path)
	if p.Network != nil {
		set("lxc.namespace.share.net", "%s", p.Network.Path())
	} else {
		set("lxc.net.0.type", "empty")
	}
	if UsesSystemd(n) {
		set("lxc.init.cmd", "/"+systemdProgram)
		set("lxc.signal.halt", "SIGRTMIN+3") // systemd(1)
		set("lxc.environment", "NOTIFY_SOCKET=%s/%s", containerNotify, notifySocket)
	} else {
		// nines-init as pid 1 keeps the container quiet: no services, no timers.
		set("lxc.init.cmd", "%s lxc", containerInit)
		set("lxc.signal.halt", "SIGTERM")
	}
	set("lxc.environment", "NINES_TOKEN=%s", token)
	WallsOf(n).lxcWalls(set, profile)
	set("lxc.tty.max", "0")
	set("lxc.pty.max", "64")
	set("lxc.console.path", "none")
	set("lxc.apparmor.profile", "unconfined") // docs/labs.md, Walls, has the reason
	set("lxc.cgroup.dir.container", "%s", groups.container)
	set("lxc.cgroup.dir.monitor", "%s", groups.monitor)
	hierarchies, err := cgroup.Mounted()
	if err != nil {
		return "", err
	}
	if err := devices(set, n, hierarchies); err != nil {
		return "", err
	}
	for _, limit := range groups.limits {
		set(map[int]string{1: "lxc.cgroup.", 2: "lxc.cgroup2."}[limit.Version]+limit.File, "%s", limit.Value)
	}
	if slices.Contains(n.Allow, spec.AllowBPF) { // for programs that pin BPF objects
		set("lxc.mount.entry", "bpf sys/fs/bpf bpf nosuid,nodev,noexec 0 0")
	}
	for _, m := range p.binds(n, root) {
		kind, mode := "dir", ""
		if m.file {
			kind = "file"
		}
		if m.readOnly {
			mode = ",ro"
		}
		set("lxc.mount.entry", "%s %s none bind,create=%s%s 0 0",
			escape(m.source), escape(strings.TrimPrefix(m.target, "/")), kind, mode)
	}
	return b.String(), nil
}

func (p Place) binds(n plan.Node, root rootfs) []bind {
	binds := append(slices.Clone(root.binds), p.nameBinds(n)...)
	binds = append(binds, bind{p.InitPath, containerInit, true, true})
	if UsesSystemd(n) {
		binds = append(binds, bind{p.notifyFolder(n), containerNotify, false, false})
	}
	if p.Files.Engine != "" {
		binds = append(binds, bind{p.Files.Engine, containerEngine, true, true})
	}
	if n.Scripts.Any() {
		binds = append(binds,
			bind{p.Files.ScriptCommand, containerScriptCommand, true, true},
			bind{filepath.Join(p.Files.Scripts, n.Name), filepath.Join(containerScripts, n.Name), false, true})
	}
	binds = append(binds, p.accessBinds(n)...)
	for _, device := range n.Devices {
		binds = append(binds, bind{device, device, true, false})
	}
	for _, folder := range p.Sockets[n.Name] {
		binds = append(binds, bind{folder, filepath.Join(containerSockets, filepath.Base(folder)), false, false})
	}
	for _, m := range n.Mounts {
		binds = append(binds, bind{m.Source, m.Target, !isDir(m.Source), m.ReadOnly})
	}
	return binds
}

// devices lets the container open the usual devices and those of its plan, by cgroup v1, or by
// LXC's BPF program where there is only v2.
func devices(set func(string, string, ...any), n plan.Node, hierarchies []cgroup.Hierarchy) error {
	key := ""
	for _, h := range hierarchies {
		switch {
		case h.Version == 1 && h.Has("devices"):
			key = "lxc.cgroup.devices."
		case h.Version == 2 && key == "":
			key = "lxc.cgroup2.devices."
		}
	}
	if key == "" {
		return nil // nothing on this host controls devices
	}
	var mounted []string
	for _, m := range n.Mounts {
		mounted = append(mounted, m.Source)
	}
	rules, err := cgroup.DeviceRules(n.Devices, mounted)
	if err != nil {
		return err
	}
	set(key+"deny", "a")
	for _, r := range rules {
		set(key+"allow", "%s", r)
	}
	return nil
}

// escape writes a path in the format of fstab(5), which mount entries use.
func escape(path string) string {
	return strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`).Replace(path)
}
