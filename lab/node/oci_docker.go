package node

import (
	"archive/tar"
	"context"
	"errors"
	"os"
)

// dockerSocket is in the enclosure, where paths are short.
const dockerSocket = "/run/docker.sock"

// emptyImage is what dockerd knows as the container's image: without files, as nines has those.
const emptyImage = "nines"

// byDocker starts the container by dockerd. It is told to leave the network, the firewall and the
// control groups alone.
func (m managed) byDocker(ctx context.Context) (int, error) {
	if err := m.containerd(ctx); err != nil {
		return 0, err
	}
	if err := os.WriteFile(m.in("daemon.json"), []byte("{}\n"), 0o600); err != nil {
		return 0, err
	}
	err := m.daemon(ctx, dockerSocket, "dockerd",
		"--config-file", m.in("daemon.json"), "--host", "unix://"+dockerSocket, "--containerd", containerdSocket,
		"--data-root", m.in("docker"), "--exec-root", "/run/docker", "--pidfile", "/run/docker.pid", "--storage-driver", "vfs",
		"--bridge", "none", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false", "--userland-proxy=false",
		"--exec-opt", "native.cgroupdriver=cgroupfs", "--add-runtime", "nines="+m.in(managerRuntime), "--default-runtime", "nines")
	if err != nil {
		return 0, err
	}
	archive, err := m.emptyArchive()
	if err != nil {
		return 0, err
	}
	said := ""
	for _, arguments := range [][]string{
		{"import", archive, emptyImage},
		{"create", "--name", m.name, "--network", "host", "--log-driver", "none", emptyImage, "true"},
		{"start", m.name},
		{"inspect", "--format", "{{.State.Pid}}", m.name},
	} {
		if said, err = m.call(ctx, append([]string{"docker", "--host", "unix://" + dockerSocket}, arguments...)); err != nil {
			return 0, err
		}
	}
	return pidFrom("docker inspect", said)
}

// emptyArchive writes a tar file without files.
func (m managed) emptyArchive() (string, error) {
	file, err := os.Create(m.in("empty.tar"))
	if err != nil {
		return "", err
	}
	return file.Name(), errors.Join(tar.NewWriter(file).Close(), file.Close())
}
