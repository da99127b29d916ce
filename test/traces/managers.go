package traces

import (
	"path/filepath"
	"testing"
)

// ManagersFiles are the files of the host that managers of containers share.
func ManagersFiles(t *testing.T) []string {
	t.Helper()
	var found []string
	for _, pattern := range []string{
		"/run/containerd/*", "/run/containerd", "/run/docker*", "/run/docker/*", "/run/libpod", "/run/containers", "/run/runc", "/run/runc/*",
		"/run/crun", "/run/crun/*", "/etc/docker/*", "/etc/docker", "/etc/containers/*", "/etc/cni/*", "/opt/*", "/var/lib/docker",
		"/var/lib/containerd", "/var/lib/containers", "/dev/shm/libpod*", "/sys/fs/cgroup/*/libpod*", "/sys/fs/cgroup/*/docker*",
		"/sys/fs/cgroup/libpod*", "/sys/fs/cgroup/docker*", "/sys/fs/cgroup/*/machine*",
	} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, paths...)
	}
	return found
}
