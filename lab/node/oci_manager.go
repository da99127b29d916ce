package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/fault"
	"nines.dev/nines/kernel/await"
	"nines.dev/nines/kernel/proc"
)

// managed is a container that a manager of containers starts: podman, Docker or containerd. Each
// manager serves one node, with files and daemons of its own, in an enclosure: the host's own
// manager, if it has one, neither sees nor is told of it.
//
//	podman ─▸ conmon ───────────┐
//	ctr ─▸ containerd ─▸ shim ──┼─▸ nines-runtime ─▸ runc ─▸ container
//	docker ─▸ dockerd ─▸ … ─▸ ──┘    the bundle
//
// A manager makes a container as it does by itself, of the options that nines gives it: few, as in
// the end nines-runtime (programs/nines-init/runtime.c) takes the place of runc and hands it the
// configuration that nines has written. So the container is the same with each manager, and joins
// a network namespace, which Docker cannot tell its runtime to do.
type managed struct {
	ociContainer
	manage func(managed, context.Context) (int, error)
}

// managerRuntime is the name by which nines-init knows that it stands for runc.
const managerRuntime = "nines-runtime"

// in is the path of a file of the manager.
func (m managed) in(name string) string { return filepath.Join(m.manager(), name) }

// runtimeBelow is the program that makes containers for managers: runc, or crun where there is none.
func runtimeBelow() (string, error) {
	for _, name := range []string{"runc", "crun"} {
		if name == "crun" && checkCrun() != nil {
			continue
		}
		if path, err := exec.LookPath(name); err == nil {
			return filepath.Abs(path)
		}
	}
	return "", &exit.MissingError{Capability: "runc", Reason: "neither runc nor a usable crun is installed", Remedy: "apt-get install runc"}
}

// create makes and starts the container. Its first process may have ended by then.
func (m managed) create(ctx context.Context) (proc.Identity, error) {
	if err := m.prepare(); err != nil {
		return proc.Identity{}, err
	}
	if err := m.keep(ctx); err != nil {
		return proc.Identity{}, err
	}
	var pid int
	err := inMountNamespace(func() error {
		// Managers have no business with networks.
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return os.NewSyscallError("unshare", err)
		}
		if err := keepTo(m.cpus); err != nil {
			return err
		}
		if err := enclose(m.in("enclosure")); err != nil {
			return err
		}
		if err := m.mount(); err != nil {
			return err
		}
		fault.Point("before a manager of containers")
		made, err := m.manage(m, ctx)
		pid = made
		fault.Point("after a manager of containers")
		return err
	})
	if err != nil {
		return proc.Identity{}, fmt.Errorf("%w: %s", err, LastLines(m.driverLog(), m.log))
	}
	// Another process may have its number now, but not its control group. What it has for its
	// environment is that of the runtime until it becomes what it shall run.
	id, err := proc.Of(pid)
	if err == nil {
		inside, failed := inGroup(pid, m.group)
		if inside {
			return id, nil
		}
		err = failed
	}
	return proc.Identity{}, fmt.Errorf("%w: %s", errors.Join(errEnded, err), LastLines(m.log))
}

// watch is what is left of the container's start.
func (m managed) watch(_ context.Context, id proc.Identity) error { return m.settle(id) }

// prepare lays out what nines-runtime finds beside itself.
func (m managed) prepare() error {
	below, err := runtimeBelow()
	if err != nil {
		return err
	}
	if err := os.Mkdir(m.manager(), 0o700); err != nil {
		return err
	}
	for name, target := range map[string]string{managerRuntime: m.init, "runtime": below, "config.json": m.config(), "output": m.output()} {
		if err := os.Symlink(target, m.in(name)); err != nil {
			return err
		}
	}
	return nil
}

// keepTo keeps the calling thread, and what it starts, on some CPUs; none are all.
func keepTo(cpus []int) error {
	if len(cpus) == 0 {
		return nil
	}
	var set unix.CPUSet
	for _, cpu := range cpus {
		set.Set(cpu)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("restrict the driver to the host's own CPUs: %w", err)
	}
	return nil
}

// environment is that of the manager's programs. Of the caller's it has only where programs are, as
// the rest could lead them to another's daemons and files.
func (m managed) environment(more ...string) []string {
	return append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + m.manager(), "LANG=C.UTF-8", "NINES_TOKEN=" + m.token,
	}, more...)
}

// call runs a program to its end and returns what it prints.
func (m managed) call(ctx context.Context, argv []string, env ...string) (string, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env, cmd.Dir = m.environment(env...), m.manager()
	// Files, as what it starts has them from now on, and would keep a pipe open.
	out, err := os.Create(m.in("said"))
	if err != nil {
		return "", err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	err = cmd.Run()
	text, _ := os.ReadFile(out.Name())
	said := strings.TrimSpace(string(text))
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(argv[:min(2, len(argv))], " "), err, said)
	}
	return said, nil
}

// pidFrom parses what a manager says of its container's first process.
func pidFrom(manager, said string) (int, error) {
	pid, err := strconv.Atoi(said)
	if err != nil {
		return 0, fmt.Errorf("%s says %.200q instead of a process id", manager, said)
	}
	return pid, nil
}

// managerPatience bounds the wait for a daemon, which takes a second on an idle machine.
const managerPatience = 2 * time.Minute

// daemon starts a program that serves a UNIX socket, and returns when it does. The socket is in the
// enclosure, so the connection must be made on the same thread.
func (m managed) daemon(ctx context.Context, socket string, argv ...string) error {
	log, err := os.OpenFile(m.driverLog(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = m.environment(), "/", log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // it outlives this call, and perhaps nines
	return await.Until(ctx, await.Condition{
		What: argv[0] + " serves " + socket, Within: managerPatience, Every: 10 * time.Millisecond,
		Holds: func(context.Context) error {
			c, err := net.Dial("unix", socket)
			if err == nil {
				fault.Point("after a daemon of a manager of containers")
				return await.Never(errors.Join(c.Close(), m.noteDaemon(cmd.Process.Pid)))
			}
			select {
			case err := <-ended:
				return await.Never(fmt.Errorf("%s ended at once: %w", argv[0], err))
			default:
				return err
			}
		},
	})
}
