package node

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// podmanSettings are all settings of podman (containers.conf(5)); conmon, which watches the
// container, would get no environment but this.
const podmanSettings = `[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
events_logfile_path = %s
conmon_env_vars = [%s, %s, %s]
`

// byPodman starts the container by podman, which has no daemon: conmon stays beside the container.
func (m managed) byPodman(ctx context.Context) (int, error) {
	settings := "CONTAINERS_CONF=" + m.in("containers.conf")
	text := fmt.Sprintf(podmanSettings, strconv.Quote(m.podmanEvents()), strconv.Quote("PATH="+os.Getenv("PATH")), strconv.Quote("NINES_TOKEN="+m.token), strconv.Quote(settings))
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

// podmanEvent is a line of podman's log of events, podman-events(1).
type podmanEvent struct {
	Name, Status string
	// ContainerExitCode is not there where it is 0 (podman 4).
	ContainerExitCode int
}

// toldByPodman reads the event of the container's end. What conmon wrote of it is gone: in its folder with podman's cleanup,
// in the enclosure with conmon.
func (m managed) toldByPodman(context.Context) (int, error) {
	text, err := os.ReadFile(m.podmanEvents())
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(text) {
		var event podmanEvent
		if err := json.Unmarshal(line, &event); err != nil {
			return 0, fmt.Errorf("podman's log of events: %w", err)
		}
		if event.Name == m.name && event.Status == "died" {
			return event.ContainerExitCode, nil
		}
	}
	return 0, errors.New("podman has noted no end")
}

func (m managed) podmanEvents() string { return m.in("events") }

// podmanImages is podman's own store. Its settings are in containers-registries.conf(5), and in what
// podman login writes.
type podmanImages struct{}

// reach has nobody to reach: podman has no daemon.
func (podmanImages) reach(context.Context) error { return nil }

func (podmanImages) find(ctx context.Context, name string) (*keptImage, error) {
	_, err := fetchCommand("podman", "image", "exists", name).output(ctx)
	if status := new(exec.ExitError); errors.As(err, &status) && status.ExitCode() == 1 { // podman-image-exists(1)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	said, err := fetchCommand("podman", "image", "inspect", "--format", "{{.Id}} {{.Digest}}", name).output(ctx)
	if err != nil {
		return nil, err
	}
	id, digest, _ := strings.Cut(said, " ")
	return keptAs("podman image inspect", name, id, digest)
}

func (podmanImages) pull(name string) []string { return []string{"podman", "pull", name} }

func (podmanImages) save(ctx context.Context, of *keptImage, file string) error {
	_, err := fetchCommand("podman", "save", "--quiet", "--format", "docker-archive", "--output", file, of.id).output(ctx)
	return err
}

func (podmanImages) settings() string { return "podman login, /etc/containers/registries.conf" }
