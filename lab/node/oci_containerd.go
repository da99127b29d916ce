package node

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// containerdSocket is in the enclosure, where paths are short.
const containerdSocket = "/run/containerd/containerd.sock"

// containerdSettings are for containerd 1.6 and later: without the part for Kubernetes, with the
// file systems that every host has, and with all files in the node's folder.
const containerdSettings = `version = 2
root = %s
state = "/run/containerd"
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]

[grpc]
address = "` + containerdSocket + `"

[plugins."io.containerd.internal.v1.opt"]
path = %s
`

// containerd starts containerd.
func (m managed) containerd(ctx context.Context) error {
	text := fmt.Sprintf(containerdSettings, strconv.Quote(m.in("containerd")), strconv.Quote(m.in("opt")))
	if err := os.WriteFile(m.in("containerd.toml"), []byte(text), 0o600); err != nil {
		return err
	}
	return m.daemon(ctx, containerdSocket, "containerd", "--config", m.in("containerd.toml"))
}

// byContainerd starts the container by ctr, the command line of containerd.
func (m managed) byContainerd(ctx context.Context) (int, error) {
	if err := m.containerd(ctx); err != nil {
		return 0, err
	}
	_, err := m.call(ctx, []string{
		"ctr", "--address", containerdSocket, "--namespace", "nines",
		"run", "--detach", "--null-io", "--pid-file", m.pidFile(), "--runc-binary", m.in(managerRuntime),
		"--rootfs", m.root(), m.name, "true",
	})
	if err != nil {
		return 0, err
	}
	return readPID(m.pidFile())
}

// containerdCode is what ctr says of a task that it deletes; of one with the exit code 0 it says nothing.
var containerdCode = regexp.MustCompile(`exit with non-zero exit code (\d+)`)

// toldByContainerd asks containerd. Of its command line only the removal of a task tells its exit code; the container stays.
func (m managed) toldByContainerd(ctx context.Context) (int, error) {
	said, err := m.ask(ctx, "ctr", "--address", containerdSocket, "--namespace", "nines", "tasks", "delete", m.name)
	if err != nil {
		return 0, err
	}
	if said == "" {
		return 0, nil
	}
	code := containerdCode.FindStringSubmatch(said)
	if code == nil {
		return 0, fmt.Errorf("ctr says %.200q instead of an exit code", said)
	}
	return strconv.Atoi(code[1])
}

// containerdImages is the store of the host's containerd, or of that at CONTAINERD_ADDRESS, in the
// namespace of ctr or that of CONTAINERD_NAMESPACE.
type containerdImages struct{}

// containerdHosts is where containerd's own documents put the settings of registries (hosts.md).
const containerdHosts = "/etc/containerd/certs.d"

// ctr is a call of containerd's command line, which would wait ten seconds for a daemon.
func ctr(arguments ...string) driverCommand {
	return append(fetchCommand("ctr", "--connect-timeout", "3s"), arguments...)
}

func (containerdImages) reach(ctx context.Context) error {
	_, err := ctr("version").output(ctx)
	return err
}

func (containerdImages) find(ctx context.Context, name string) (*keptImage, error) {
	said, err := ctr("images", "ls", "name=="+strconv.Quote(name)).output(ctx)
	if err != nil {
		return nil, err
	}
	// A line of titles, and then one of the image: its name, its type and its digest.
	for _, line := range strings.Split(said, "\n")[1:] {
		if fields := strings.Fields(line); len(fields) > 2 && fields[0] == name {
			return keptAs("ctr images ls", name, fields[2], fields[2])
		}
	}
	return nil, nil
}

// pull leaves out what ctr images pull does next, and what nines does not need: unpacking.
func (containerdImages) pull(name string) []string {
	if isDir(containerdHosts) {
		return ctr("content", "fetch", "--hosts-dir", containerdHosts, name)
	}
	return ctr("content", "fetch", name)
}

// save writes what the name means, as ctr knows images by their names only.
func (k containerdImages) save(ctx context.Context, of *keptImage, file string) error {
	if _, err := ctr("images", "export", file, of.name).output(ctx); err != nil {
		return err
	}
	now, err := k.find(ctx, of.name)
	if err == nil && (now == nil || now.digest != of.digest) {
		err = fmt.Errorf("the image %s changed in containerd while nines read it; try again", of.name)
	}
	return err
}

func (containerdImages) settings() string {
	return "ctr accepts only full names, such as docker.io/library/debian:12; " + containerdHosts
}
