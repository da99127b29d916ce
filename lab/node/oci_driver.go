package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"nines.dev/nines/kernel/proc"
)

// bundle is the folder of an OCI container: what its driver reads, what it writes, and the changes
// to its image's files.
type bundle struct{ folder, name string }

func (b bundle) root() string        { return filepath.Join(b.folder, "rootfs") }
func (b bundle) changes() string     { return filepath.Join(b.folder, "changes") }
func (b bundle) work() string        { return filepath.Join(b.folder, "work") }
func (b bundle) state() string       { return filepath.Join(b.folder, "state") }
func (b bundle) pidFile() string     { return filepath.Join(b.folder, "pid") }
func (b bundle) driverLog() string   { return filepath.Join(b.folder, "driver.log") }
func (b bundle) environment() string { return filepath.Join(b.folder, "environment.json") }

// make makes the folder anew: a node that is rebuilt begins with its image.
func (b bundle) make() error {
	if err := os.RemoveAll(b.folder); err != nil {
		return err
	}
	for _, folder := range []string{b.root(), b.changes(), b.work(), b.state()} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
	}
	// The root of what the container sees has this mode, whatever user runs in it.
	return os.Chmod(b.changes(), 0o755)
}

// write writes the container's configuration, and its image's environment for commands that enter
// it. Environments may have passwords in them.
func (b bundle) write(config *specs.Spec, env []string) error {
	for path, value := range map[string]any{filepath.Join(b.folder, "config.json"): config, b.environment(): env} {
		text, err := json.Marshal(value)
		if err == nil {
			err = os.WriteFile(path, text, 0o600)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// driver runs a program with the command line of runc.
type driver struct {
	program, token string
	bundle         bundle
	// log gets what the container's first process prints.
	log string
}

func (d driver) command(ctx context.Context, arguments ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, d.program, append([]string{"--root", d.bundle.state(), "--log", d.bundle.driverLog()}, arguments...)...)
	// By its token it is found should nines die while it runs.
	cmd.Env = append(os.Environ(), "NINES_TOKEN="+d.token)
	return cmd
}

// create makes the container, whose first process then waits for start. The overlay of its files is
// mounted in a mount namespace that only the driver and the container have: nothing of it shows on
// the host, and it ends with them.
func (d driver) create(ctx context.Context, image string) (proc.Identity, error) {
	log, err := os.OpenFile(d.log, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return proc.Identity{}, err
	}
	defer log.Close()
	b := d.bundle
	cmd := d.command(ctx, "create", "--bundle", b.folder, "--pid-file", b.pidFile(), b.name)
	// Files and no pipes: the container's first process has them from now on.
	cmd.Stdout, cmd.Stderr = log, log
	err = inMountNamespace(func() error {
		if err := mountOverlay(b.root(), image, b.changes(), b.work()); err != nil {
			return err
		}
		return cmd.Run()
	})
	if err != nil {
		return proc.Identity{}, fmt.Errorf("%s create: %w: %s", d.program, err, LastLines(b.driverLog(), d.log))
	}
	text, err := os.ReadFile(b.pidFile())
	if err != nil {
		return proc.Identity{}, err
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return proc.Identity{}, fmt.Errorf("%s wrote no process id but %.100q", d.program, text)
	}
	return proc.Of(pid)
}

// errEnded says that the first process is gone as soon as it began.
var errEnded = errors.New("its first process ended at once")

// settling is how long a first process is watched: one that cannot do its work ends by then, and
// the reason can be said where it belongs. What ends later is a dead node.
const settling = 50 * time.Millisecond

// start lets the container's first process become what it shall run.
func (d driver) start(ctx context.Context, id proc.Identity) error {
	cmd := d.command(ctx, "start", d.bundle.name)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s start: %w: %s: %s", d.program, err, strings.TrimSpace(string(out)), LastLines(d.bundle.driverLog(), d.log))
	}
	for deadline := time.Now().Add(settling); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if !id.Alive() {
			return fmt.Errorf("%w: %s", errEnded, LastLines(d.log))
		}
	}
	return nil
}

// inMountNamespace calls f on a thread with a mount namespace of its own, which what f starts
// inherits. The thread ends with it.
func inMountNamespace(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		done <- func() error {
			// The folders and umask of threads are shared; a namespace of mounts has its own.
			if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
				return os.NewSyscallError("unshare", err)
			}
			if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
				return fmt.Errorf("make mounts private: %w", err)
			}
			return f()
		}()
	}()
	return <-done
}

// mountOverlay mounts a read-only tree with a layer of changes (filesystems/overlayfs.rst). It uses
// the calls of Linux 5.2, whose options are no text with commas.
func mountOverlay(target, lower, changes, work string) error {
	fs, err := unix.Fsopen("overlay", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return fmt.Errorf("open the file system overlay: %w", err)
	}
	defer unix.Close(fs)
	plain := strings.NewReplacer(`\`, `\\`)
	for _, option := range []struct{ key, value string }{
		{"source", "nines"},
		{"lowerdir", strings.NewReplacer(`\`, `\\`, ":", `\:`).Replace(lower)},
		{"upperdir", plain.Replace(changes)}, {"workdir", plain.Replace(work)},
	} {
		if err := unix.FsconfigSetString(fs, option.key, option.value); err != nil {
			return fmt.Errorf("overlay: %s %s: %w", option.key, option.value, err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return fmt.Errorf("make an overlay of %s and %s: %w", lower, changes, err)
	}
	mount, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("fsmount", err)
	}
	defer unix.Close(mount)
	if err := unix.MoveMount(mount, "", unix.AT_FDCWD, target, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("mount at %s: %w", target, err)
	}
	return nil
}
