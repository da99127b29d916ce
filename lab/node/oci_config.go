package node

import (
	"maps"
	"slices"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"nines.dev/nines/image"
	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/plan"
	"nines.dev/nines/spec"
)

// ociJoins is what exists before the container, and what it joins.
type ociJoins struct {
	// network is the network namespace; empty for a new one.
	network string
	// group is the control group, below every hierarchy.
	group string
	token string
}

// ociConfig is the container's configuration (config.md of the OCI's runtime-spec): the same walls,
// devices and mounts as a container of LXC has. nines itself has written the limits of its control
// groups, so they are not in it.
func (p Place) ociConfig(n plan.Node, unpacked *image.Unpacked, b bundle, joins ociJoins) (*specs.Spec, error) {
	first, err := ociProcess(n, unpacked, joins.token)
	if err != nil {
		return nil, err
	}
	own, err := ownCapabilities()
	if err != nil {
		return nil, err
	}
	walls := WallsOf(n)
	first.Capabilities, first.NoNewPrivileges = ociCapabilities(walls, own), walls.NoNewPrivileges
	devices, err := ociDevices(n)
	if err != nil {
		return nil, err
	}
	config := &specs.Spec{
		Version:  "1.0.2", // the newest that runc of Debian 12 knows
		Hostname: n.HostName,
		Root:     &specs.Root{Path: b.root()},
		Process:  first,
		Mounts:   append(ociFileSystems(n), ociBinds(p.binds(n, rootfs{}))...),
		Linux: &specs.Linux{
			CgroupsPath: joins.group,
			Resources:   &specs.LinuxResources{Devices: devices},
			Namespaces: []specs.LinuxNamespace{
				{Type: specs.PIDNamespace}, {Type: specs.MountNamespace}, {Type: specs.UTSNamespace},
				{Type: specs.IPCNamespace}, {Type: specs.CgroupNamespace},
				{Type: specs.NetworkNamespace, Path: joins.network},
			},
		},
	}
	if walls.Privileged {
		return config, nil
	}
	config.Linux.MaskedPaths = slices.Concat(maskedFolders, maskedInProc, maskedFiles, maskedInSys)
	config.Linux.ReadonlyPaths = readOnlyInProc
	// The driver cannot leave /proc/sys/net writable in a /proc/sys that is not; nines-init can.
	config.Hooks = &specs.Hooks{CreateContainer: []specs.Hook{{
		Path: p.InitPath, Args: []string{"nines-init", "lock", b.root(), walls.sysfs()},
	}}}
	config.Linux.Seccomp, err = walls.profile()
	return config, err
}

// ociProcess is the container's first process. It is pure but for the image's lists of users.
func ociProcess(n plan.Node, unpacked *image.Unpacked, token string) (*specs.Process, error) {
	first := &specs.Process{Cwd: "/", Args: unpacked.Arguments(n.OCI.Command), Env: []string{baseEnv[0]}}
	if n.OCI.Init == spec.InitOfNines || len(first.Args) == 0 {
		first.Args = []string{containerInit, "lxc"}
	} else {
		user, err := unpacked.User()
		if err != nil {
			return nil, err
		}
		first.User = specs.User{UID: user.UID, GID: user.GID, AdditionalGids: user.Groups}
		first.Env = append(first.Env, "HOME="+user.Home)
		if dir := unpacked.Config.WorkingDir; dir != "" {
			first.Cwd = dir
		}
	}
	first.Env = append(first.Env, unpacked.Config.Env...)
	for _, name := range slices.Sorted(maps.Keys(n.Env)) {
		first.Env = append(first.Env, name+"="+n.Env[name])
	}
	first.Env = lastOfEach(append(first.Env, "NINES_TOKEN="+token))
	return first, nil
}

// lastOfEach keeps of each variable the last value, in the order of first mention: what finds
// two takes either.
func lastOfEach(env []string) []string {
	values, names := map[string]string{}, []string{}
	for _, word := range env {
		name, _, _ := strings.Cut(word, "=")
		if _, seen := values[name]; !seen {
			names = append(names, name)
		}
		values[name] = word
	}
	var list []string
	for _, name := range names {
		list = append(list, values[name])
	}
	return list
}

// ociFileSystems are those of the kernel (config-linux.md, "Default Filesystems").
func ociFileSystems(n plan.Node) []specs.Mount {
	list := []specs.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc", Options: []string{"nosuid", "noexec", "nodev"}},
		{Destination: "/dev", Type: "tmpfs", Source: "tmpfs", Options: []string{"nosuid", "strictatime", "mode=755", "size=64k"}},
		{Destination: "/dev/pts", Type: "devpts", Source: "devpts", Options: []string{"nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"}},
		{Destination: "/dev/shm", Type: "tmpfs", Source: "shm", Options: []string{"nosuid", "noexec", "nodev", "mode=1777"}},
		{Destination: "/dev/mqueue", Type: "mqueue", Source: "mqueue", Options: []string{"nosuid", "noexec", "nodev"}},
		// A sysfs shows the network namespace of the process that mounted it.
		{Destination: "/sys", Type: "sysfs", Source: "sysfs", Options: []string{"nosuid", "noexec", "nodev"}},
	}
	if slices.Contains(n.Allow, spec.AllowBPF) { // for programs that pin BPF objects
		list = append(list, specs.Mount{Destination: "/sys/fs/bpf", Type: "bpf", Source: "bpf", Options: []string{"nosuid", "noexec", "nodev"}})
	}
	return list
}

// ociBinds are bind mounts; a folder that is read-only is so all the way down ("rro",
// mount_setattr(2)), for which crun 1.8 takes no file.
func ociBinds(binds []bind) []specs.Mount {
	var list []specs.Mount
	for _, b := range binds {
		options := []string{"rbind"}
		switch {
		case b.readOnly && b.file:
			options = append(options, "ro")
		case b.readOnly:
			options = append(options, "rro")
		}
		list = append(list, specs.Mount{Destination: b.target, Type: "bind", Source: b.source, Options: options})
	}
	return list
}

// ociDevices are the devices that the container may open: none, and then those of the rules.
func ociDevices(n plan.Node) ([]specs.LinuxDeviceCgroup, error) {
	var mounted []string
	for _, m := range n.Mounts {
		mounted = append(mounted, m.Source)
	}
	rules, err := cgroup.DeviceRules(n.Devices, mounted)
	if err != nil {
		return nil, err
	}
	list := []specs.LinuxDeviceCgroup{{Allow: false, Access: "rwm"}}
	for _, r := range rules {
		d := specs.LinuxDeviceCgroup{Allow: true, Type: string(r.Kind), Access: r.Access}
		if r.Major >= 0 {
			major := int64(r.Major)
			d.Major = &major
		}
		if r.Minor >= 0 {
			minor := int64(r.Minor)
			d.Minor = &minor
		}
		list = append(list, d)
	}
	return list, nil
}
