package node

import (
	"context"
	"fmt"
	"os"
	"strconv"
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
