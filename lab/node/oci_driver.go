package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	specs "github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"nines.dev/nines/image"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/kernel/replace"
)

// bundle is the folder of an OCI container: what its driver reads, what it writes, and the changes
// to its image's files.
type bundle struct{ folder, name string }

func (b bundle) root() string      { return filepath.Join(b.folder, "rootfs") }
func (b bundle) changes() string   { return filepath.Join(b.folder, "changes") }
func (b bundle) work() string      { return filepath.Join(b.folder, "work") }
func (b bundle) state() string     { return filepath.Join(b.folder, "state") }
func (b bundle) pidFile() string   { return filepath.Join(b.folder, "pid") }
func (b bundle) driverLog() string { return filepath.Join(b.folder, "driver.log") }
func (b bundle) imageFile() string { return filepath.Join(b.folder, "image.json") }

// make makes the folder anew: a node that is rebuilt begins with its image. One that is started again
// keeps its changes, and only what the driver knows of the container before goes.
func (b bundle) make(again bool) error {
	old := []string{b.folder}
	if again {
		old = []string{b.state(), b.pidFile(), b.driverLog()}
	}
	for _, path := range old {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	for _, folder := range []string{b.root(), b.changes(), b.work(), b.state()} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
	}
	if again {
		return nil
	}
	// The root of what the container sees has this mode, whatever user runs in it.
	return os.Chmod(b.changes(), 0o755)
}

// write writes the container's configuration, and which image it is of: for commands that enter it,
// and for its next start. Environments may have passwords in them.
func (b bundle) write(config *specs.Spec, of *image.Unpacked) error {
	if err := replace.JSON(filepath.Join(b.folder, "config.json"), config, 0o600); err != nil {
		return err
	}
	return replace.JSON(b.imageFile(), of, 0o600)
}

// image is the image that the container is of.
func (b bundle) image() (*image.Unpacked, error) {
	var of image.Unpacked
	text, err := os.ReadFile(b.imageFile())
	if err == nil {
		err = json.Unmarshal(text, &of)
	}
	if err != nil {
		return nil, fmt.Errorf("read which image the container was made of: %w", err)
	}
	return &of, nil
}

// driver runs a program with the command line of runc.
type driver struct {
	program, token string
	bundle         bundle
	// log gets what the container's first process prints; what the one before has printed is kept
	// beside it.
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
	if err := os.Rename(d.log, d.log+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return proc.Identity{}, err
	}
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
		// What is mounted nobody removes, but just before it one may have.
		if _, err := os.Stat(image); err != nil {
			return fmt.Errorf("the unpacked image was removed during the start; try again: %w", err)
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
		return proc.Identity{}, fmt.Errorf("%s wrote %.100q instead of a process id", d.program, text)
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
	go onEndingThread(func() {
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
	})
	return <-done
}

// onEndingThread calls f, on a new goroutine, on a thread that ends with it. The main thread never
// ends (mexit in Go's runtime/proc.go), and what it has is what /proc shows of the whole process: so
// if the goroutine has that one, it keeps it from f.
func onEndingThread(f func()) {
	runtime.LockOSThread() // not unlocked: the thread ends with the goroutine
	if unix.Gettid() != unix.Getpid() {
		f()
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		f()
	}()
	<-done
	runtime.UnlockOSThread()
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
		// With an index the changes would fit only the very files that they were first mounted over,
		// and an image may be unpacked again while its node is stopped.
		{"index", "off"},
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
