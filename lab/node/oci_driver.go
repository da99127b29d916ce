package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/cgroup"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/spec"
)

// ociDriver is a program that makes containers.
type ociDriver struct {
	// programs are all that it needs, and install is Debian's package that has them.
	programs []string
	install  string
	// manage makes and starts a container by a manager (oci_manager.go), and returns its first
	// process. Nil for a driver with runc's command line, which nines calls itself.
	manage func(managed, context.Context) (int, error)
	// told is the exit code that the manager tells of a container's first process which has ended.
	told func(managed, context.Context) (int, error)
	// images is its store of images; nil for a driver without one.
	images keeper
}

var ociDrivers = map[spec.OCIDriver]ociDriver{
	spec.DriverRunc:       {programs: []string{"runc"}, install: "runc"},
	spec.DriverCrun:       {programs: []string{"crun"}, install: "crun"},
	spec.DriverPodman:     {programs: []string{"podman", "conmon"}, install: "podman", manage: managed.byPodman, told: managed.toldByPodman, images: podmanImages{}},
	spec.DriverContainerd: {programs: []string{"containerd", "containerd-shim-runc-v2", "ctr"}, install: "containerd", manage: managed.byContainerd, told: managed.toldByContainerd, images: containerdImages{}},
	spec.DriverDocker:     {programs: []string{"dockerd", "docker", "containerd", "containerd-shim-runc-v2"}, install: "docker.io (and docker-cli in Debian 13)", manage: managed.byDocker, told: managed.toldByDocker, images: dockerImages{}},
}

// checkDriver checks that the host has a driver, and a runtime below it.
func checkDriver(name spec.OCIDriver) error {
	d, known := ociDrivers[name]
	if !known {
		return &exit.MissingError{Capability: string(name), Reason: "unknown driver", Remedy: "use a version of nines that supports it"}
	}
	for _, program := range d.programs {
		if _, err := exec.LookPath(program); err != nil {
			return &exit.MissingError{
				Capability: string(name), Reason: "there is no " + program,
				Remedy: "apt-get install " + d.install + ", or use another driver or runtime: netns",
			}
		}
	}
	if d.manage != nil {
		_, err := runtimeBelow()
		return err
	}
	if name == spec.DriverCrun {
		return checkCrun()
	}
	return nil
}

// checkCrun checks that the host's control groups are of one version: crun refuses others
// (libcrun_cgroup_enter in its cgroup.c: "cgroups in hybrid mode not supported").
func checkCrun() error {
	hierarchies, err := cgroup.Mounted()
	if err != nil {
		return err
	}
	version1 := slices.ContainsFunc(hierarchies, func(h cgroup.Hierarchy) bool { return h.Version == 1 })
	for _, h := range hierarchies {
		if version1 && h.Version == 2 && len(h.Controllers) > 0 {
			return &exit.MissingError{
				Capability: string(spec.DriverCrun), Remedy: "use driver: runc, or start the host with control groups of one version only",
				Reason: fmt.Sprintf("crun refuses hosts with controllers of both versions of control groups: %s has %s", h.Mount, strings.Join(h.Controllers, " ")),
			}
		}
	}
	return nil
}

// ociContainer is a container that a driver makes.
type ociContainer struct {
	bundle
	driver spec.OCIDriver
	// group is the container's control group, below every hierarchy.
	group string
	// token is in the environment of all that the driver starts: by it that is found should nines die
	// meanwhile.
	token string
	// log gets what the container's first process prints; what the one before has printed is kept
	// beside it.
	log string
	// init is the program nines-init, cpus those of the container's keeper, and of a manager's own processes; none are
	// all.
	init string
	cpus []int
	// image is the unpacked image's root.
	image string
}

// runtime is a call of a program with the command line of runc.
func (c ociContainer) runtime(arguments ...string) []string {
	return append([]string{string(c.driver), "--root", c.state(), "--log", c.driverLog()}, arguments...)
}

// mount mounts the container's files in the mount namespace of the calling thread.
func (c ociContainer) mount() error {
	if err := mountOverlay(c.root(), c.image, c.changes(), c.work()); err != nil {
		return err
	}
	// What is mounted nobody removes, but just before it one may have.
	if _, err := os.Stat(c.image); err != nil {
		return fmt.Errorf("the unpacked image was removed during the start; try again: %w", err)
	}
	return nil
}

// create makes the container, whose first process then waits for start. The overlay of its files is
// mounted in a mount namespace that only the driver and the container have: nothing of it shows on
// the host, and it ends with them.
func (c ociContainer) create(ctx context.Context) (proc.Identity, error) {
	err := inMountNamespace(func() error {
		if err := c.mount(); err != nil {
			return err
		}
		return c.keep(ctx, c.runtime("create", "--bundle", c.folder, "--pid-file", c.pidFile(), c.name)...)
	})
	if err != nil {
		return proc.Identity{}, fmt.Errorf("%s create: %w: %s", c.driver, err, LastLines(c.driverLog(), c.log))
	}
	pid, err := readPID(c.pidFile())
	if err != nil {
		return proc.Identity{}, fmt.Errorf("%s: %w", c.driver, err)
	}
	return proc.Of(pid)
}

// readPID reads a file in which a program has written a process id.
func readPID(path string) (int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("%s has %.100q instead of a process id", filepath.Base(path), text)
	}
	return pid, nil
}

// errEnded says that the first process is gone as soon as it began.
var errEnded = errors.New("its first process ended at once")

// settling is how long a first process is watched: one that cannot do its work ends by then, and
// the reason can be said where it belongs. What ends later is a dead node.
const settling = 50 * time.Millisecond

// start lets the container's first process become what it shall run.
func (c ociContainer) start(ctx context.Context, id proc.Identity) error {
	argv := c.runtime("start", c.name)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "NINES_TOKEN="+c.token)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s start: %w: %s: %s", c.driver, err, strings.TrimSpace(string(out)), LastLines(c.driverLog(), c.log))
	}
	return c.settle(id)
}

// settle watches the first process for a moment.
func (c ociContainer) settle(id proc.Identity) error {
	for deadline := time.Now().Add(settling); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if !id.Alive() {
			c.settled()
			return fmt.Errorf("%w: %s", errEnded, LastLines(c.log))
		}
	}
	return nil
}
