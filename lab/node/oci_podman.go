package node

import (
	"context"
	"fmt"
	"os"
	"strconv"
)

// podmanSettings are all settings of podman (containers.conf(5)); conmon, which watches the
// container, would get no environment but this.
const podmanSettings = `[engine]
cgroup_manager = "cgroupfs"
events_logger = "none"
conmon_env_vars = [%s, %s, %s]
`

// byPodman starts the container by podman, which has no daemon: conmon stays beside the container.
func (m managed) byPodman(ctx context.Context) (int, error) {
	settings := "CONTAINERS_CONF=" + m.in("containers.conf")
	text := fmt.Sprintf(podmanSettings, strconv.Quote("PATH="+os.Getenv("PATH")), strconv.Quote("NINES_TOKEN="+m.token), strconv.Quote(settings))
	if err := os.WriteFile(m.in("containers.conf"), []byte(text), 0o600); err != nil {
		return 0, err
	}
	_, err := m.call(ctx, []string{
		"podman", "--root", m.in("podman"), "--storage-driver", "vfs", "--runtime", m.in(managerRuntime),
		// conmon stays where podman is, and makes no control groups.
		"run", "--detach", "--cgroups", "no-conmon", "--name", m.name, "--pidfile", m.pidFile(),
		"--network", "host", "--no-hosts", "--log-driver", "none", "--pull", "never",
		"--rootfs", m.root(), "true",
	}, settings)
	if err != nil {
		return 0, err
	}
	return readPID(m.pidFile())
}
