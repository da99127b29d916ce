package kbp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/kernel/await"
	"nines.dev/nines/kernel/proc"
)

// Name is the name of the module and of the live patch.
const Name = "nines_kbp"

// Where the kernel lists modules and live patches
// (Documentation/ABI/testing/sysfs-kernel-livepatch).
const (
	moduleFolder = "/sys/module/" + Name
	livepatches  = "/sys/kernel/livepatch"
	patchFolder  = livepatches + "/" + Name
)

// State is how far the module is loaded into the running kernel.
type State string

// The states, in order.
const (
	Absent   State = "not loaded"
	Patching State = "being enabled" // some tasks are still in patched functions
	Loaded   State = "loaded"
	Leaving  State = "being disabled"
	Disabled State = "disabled, still loaded"
)

// Now is the current state.
func Now() (State, error) {
	if _, err := os.Stat(moduleFolder); errors.Is(err, fs.ErrNotExist) {
		return Absent, nil
	} else if err != nil {
		return "", err
	}
	enabled, err := flag("enabled")
	if errors.Is(err, fs.ErrNotExist) {
		return Disabled, nil
	}
	if err != nil {
		return "", err
	}
	transition, err := flag("transition")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Disabled, nil
	case err != nil:
		return "", err
	case enabled && transition:
		return Patching, nil
	case enabled:
		return Loaded, nil
	}
	return Leaving, nil
}

// flag reads a file of the patch; fs.ErrNotExist if the patch is gone, or going.
func flag(name string) (bool, error) {
	text, err := os.ReadFile(filepath.Join(patchFolder, name))
	if errors.Is(err, unix.ENODEV) { // opened before it went, read after
		err = fs.ErrNotExist
	}
	return strings.TrimSpace(string(text)) == "1", err
}

// Lack is the reason why the running kernel cannot poll with the module, and the remedy;
// empty if it can: the module is loaded, or built and loadable.
func Lack() (reason, remedy string) {
	state, err := Now()
	if err == nil && state == Loaded {
		return "", ""
	}
	release := KernelRelease()
	if !supported(release) {
		return "the module " + Name + " is for Linux 6.1 and 6.12, not " + release, ""
	}
	if _, err := os.Stat(livepatches); err != nil {
		return "the kernel does not support live patches (CONFIG_LIVEPATCH)", ""
	}
	if state != Absent {
		return fmt.Sprintf("the module %s is %s", Name, state), "nines kbp module unload"
	}
	if _, err := Find(release); err != nil {
		return "the module " + Name + " is not built", "nines kbp module build"
	}
	if text, err := os.ReadFile("/proc/sys/kernel/modules_disabled"); err == nil && strings.TrimSpace(string(text)) == "1" {
		return "the kernel no longer loads modules (kernel.modules_disabled)", "reboot"
	}
	return "", ""
}

func supported(release string) bool {
	return strings.HasPrefix(release, "6.1.") || strings.HasPrefix(release, "6.12.")
}

// KernelRelease is the running kernel's release, as uname -r prints it.
func KernelRelease() string {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(name.Release[:])
}

// Patience is how long the kernel may take to see every task outside of the patched
// functions. It checks each second, and signals the remaining tasks after 15
// (kernel/livepatch/transition.c).
const Patience = 90 * time.Second

// Load loads a built module into the kernel, and returns once it is in effect. On any
// failure, or if ctx ends, it unloads it again. progress may be nil.
func Load(ctx context.Context, path string, progress func(string)) error {
	state, err := Now()
	if err != nil || state == Loaded {
		return err
	}
	if state != Absent {
		return fmt.Errorf("the module %s is %s: nines kbp module unload", Name, state)
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	err = unix.FinitModule(int(file.Fd()), "", 0)
	if err := errors.Join(err, file.Close()); err != nil {
		return loadError(path, err)
	}
	err = until(ctx, progress, "the patch is enabled", func() error {
		state, err := Now()
		return await.Answer(state == Loaded, err)
	})
	if err != nil {
		return errors.Join(err, Unload(context.WithoutCancel(ctx), nil))
	}
	return nil
}

// loadError adds the usual cause to the kernel's error.
func loadError(path string, err error) error {
	switch {
	case errors.Is(err, unix.ENOEXEC), errors.Is(err, unix.EINVAL):
		return fmt.Errorf("load %s: %w: it was built for another kernel; nines kbp module build makes one for %s", path, err, KernelRelease())
	case errors.Is(err, unix.EPERM):
		return &exit.MissingError{Capability: "loading of modules", Reason: "the kernel refuses " + path, Err: err,
			Remedy: "run as root outside of containers, and check that neither kernel.modules_disabled nor lockdown forbids it"}
	case errors.Is(err, unix.EKEYREJECTED):
		return &exit.MissingError{Capability: "loading of modules", Reason: "the kernel accepts only signed modules", Err: err,
			Remedy: "sign it with your own key, or turn off Secure Boot"}
	}
	return fmt.Errorf("load %s: %w", path, err)
}

// Unload stops polling, removes the patch and unloads the module. It does nothing if that
// is done already. progress may be nil.
func Unload(ctx context.Context, progress func(string)) error {
	state, err := Now()
	if err != nil || state == Absent {
		return err
	}
	if state == Patching || state == Loaded {
		if err := os.WriteFile(filepath.Join(patchFolder, "enabled"), []byte("0"), 0); err != nil {
			return fmt.Errorf("disable the patch: %w", err)
		}
	}
	err = until(ctx, progress, "the patch is disabled", func() error {
		state, err := Now()
		return await.Answer(state == Disabled || state == Absent, err)
	})
	if err != nil {
		return err
	}
	return until(ctx, progress, "the module is unloaded", func() error {
		err := unix.DeleteModule(Name, unix.O_NONBLOCK)
		switch {
		case err == nil, errors.Is(err, unix.ENOENT):
			return nil
		case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EBUSY): // for a moment after the patch is gone
			return err
		}
		return await.Never(fmt.Errorf("unload the module %s: %w", Name, err))
	})
}

// until waits for a state of the module, for at most Patience.
func until(ctx context.Context, progress func(string), what string, holds func() error) error {
	begin := time.Now()
	err := await.Until(ctx, await.Condition{What: what, Within: Patience, Every: 100 * time.Millisecond, Holds: func(context.Context) error {
		err := holds()
		if waited := time.Since(begin); err != nil && progress != nil {
			late := ""
			if waited > 10*time.Second {
				late = stuck()
			}
			progress(fmt.Sprintf("waiting until %s (%.0f s)%s", what, waited.Seconds(), late))
		}
		return err
	}})
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w%s", err, stuck())
	}
	return err
}

// stuck names the tasks that the kernel has not seen outside of the patched functions:
// those whose state is not the patch's (Documentation/livepatch/livepatch.rst).
func stuck() string {
	enabled, err := flag("enabled")
	if err != nil {
		return ""
	}
	target := "0"
	if enabled {
		target = "1"
	}
	var names []string
	files, _ := filepath.Glob("/proc/[0-9]*/task/[0-9]*/patch_state") // the pattern is valid
	for _, file := range files {
		text, err := os.ReadFile(file)
		if state := strings.TrimSpace(string(text)); err != nil || state == target || state == "-1" {
			continue
		}
		dir := filepath.Dir(file)
		comm, err := os.ReadFile(filepath.Join(dir, "comm"))
		if err == nil {
			names = append(names, fmt.Sprintf("%s (%s)", strings.TrimSpace(string(comm)), filepath.Base(dir)))
		}
	}
	const most = 5
	if len(names) > most {
		names = append(names[:most], fmt.Sprintf("and %d more", len(names)-most))
	}
	if len(names) == 0 {
		return ""
	}
	return ", for these threads stay in the kernel: " + strings.Join(names, ", ")
}

// Threads are the IDs of the polling threads in all network namespaces.
func Threads() ([]int, error) { return threadsBelow("/proc") }

// threadsBelow fails if it cannot read one: the module must not be unloaded under a thread.
func threadsBelow(root string) ([]int, error) {
	processes, err := os.ReadDir(root)
	if err != nil {
		return nil, fmt.Errorf("list the threads that poll through the module: %w", err)
	}
	threads := []int{}
	for _, process := range processes {
		pid, err := strconv.Atoi(process.Name())
		if err != nil {
			continue
		}
		dir := filepath.Join(root, process.Name())
		comm, err := os.ReadFile(filepath.Join(dir, "comm"))
		if proc.IsGone(err) {
			continue // it has ended
		}
		if err != nil {
			return nil, fmt.Errorf("list the threads that poll through the module: %w", err)
		}
		if !strings.HasPrefix(string(comm), Name+"/") {
			continue
		}
		// A user's process could have that name, but only kernel threads have no
		// executable.
		if _, err := os.Readlink(filepath.Join(dir, "exe")); err != nil {
			threads = append(threads, pid)
		}
	}
	return threads, nil
}
