package node

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
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

// toldByDocker asks dockerd.
func (m managed) toldByDocker(ctx context.Context) (int, error) {
	said, err := m.ask(ctx, "docker", "--host", "unix://"+dockerSocket, "inspect", "--format", "{{.State.Status}} {{.State.ExitCode}}", m.name)
	if err != nil {
		return 0, err
	}
	code, is := strings.CutPrefix(said, "exited ")
	if !is {
		return 0, fmt.Errorf("docker inspect says %.200q instead of an exit code", said)
	}
	return strconv.Atoi(code)
}

// emptyArchive writes a tar file without files.
func (m managed) emptyArchive() (string, error) {
	file, err := os.Create(m.in("empty.tar"))
	if err != nil {
		return "", err
	}
	return file.Name(), errors.Join(tar.NewWriter(file).Close(), file.Close())
}

// dockerImages is the store of the host's Docker, or of the one that DOCKER_HOST or docker's context
// names. The daemon fetches by its own settings; what docker login writes is the user's.
type dockerImages struct{}

func (dockerImages) reach(ctx context.Context) error {
	_, err := fetchCommand("docker", "version", "--format", "{{.Server.Version}}").output(ctx)
	return err
}

func (dockerImages) find(ctx context.Context, name string) (*keptImage, error) {
	said, err := fetchCommand("docker", "image", "inspect", "--format", "{{.Id}} {{json .RepoDigests}}", name).output(ctx)
	if err != nil && strings.Contains(strings.ToLower(err.Error()), "no such image") {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	id, list, _ := strings.Cut(said, " ")
	var digests []string
	if err := json.Unmarshal([]byte(list), &digests); err != nil {
		return nil, fmt.Errorf("docker image inspect says %.200q: %w", said, err)
	}
	return keptAs("docker image inspect", name, id, repositoryDigest(name, digests, id))
}

// repositoryDigest is the digest of an image in the repository of its name, of those that docker lists
// ("frr@sha256:…") where it is in several; other if it is in none, as one that was built here.
func repositoryDigest(name string, listed []string, other string) string {
	repository, _, _ := strings.Cut(name, "@")
	if colon := strings.LastIndex(repository, ":"); colon > strings.LastIndex(repository, "/") {
		repository = repository[:colon]
	}
	// docker lists those of its own hub by their short names.
	repository = strings.TrimPrefix(strings.TrimPrefix(repository, "docker.io/"), "library/")
	for _, digest := range listed {
		if found, is := strings.CutPrefix(digest, repository+"@"); is {
			return found
		}
	}
	if len(listed) > 0 {
		_, other, _ = strings.Cut(listed[0], "@")
	}
	return other
}

func (dockerImages) pull(name string) []string { return []string{"docker", "pull", name} }

func (dockerImages) save(ctx context.Context, of *keptImage, file string) error {
	_, err := fetchCommand("docker", "save", "--output", file, of.id).output(ctx)
	return err
}

func (dockerImages) settings() string { return "docker login, /etc/docker/daemon.json" }
