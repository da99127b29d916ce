package inside

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// inMemory are the folders that a part has of its own, in memory. Kubernetes' programs and what
// they start write nowhere else, and the rest of the host's files is read-only for them.
var inMemory = []struct{ path, options string }{
	{"/run", "mode=755"},
	{"/tmp", "mode=1777"},
	// Where pods install CNI plugins.
	{"/opt", "mode=755"},
	{"/var/log", "mode=755"},
	// Containers' file systems: without a size it would be half of the memory, for each node.
	{"/var/lib", "mode=755,size=3g"},
}

// sources are folders of the host, some below those that inMemory hides, so that they are opened
// before and put into their places after.
type sources struct {
	// folder is the part's, programs has the programs, and images the images.
	folder, programs, images string
}

// prepare makes of the part's namespaces a machine of its own. The calling thread gets a control
// group namespace, so programs must be started by the same one.
func prepare(from sources, p Part) error {
	opened := []struct {
		path, target string
		readOnly     bool
		fd           int
	}{
		{path: from.folder, target: Folder},
		{path: from.programs, target: Programs, readOnly: true},
		{path: from.images, target: Images, readOnly: true},
	}
	for i := range opened {
		fd, err := unix.OpenTree(unix.AT_FDCWD, opened[i].path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err != nil {
			return &fs.PathError{Op: "open", Path: opened[i].path, Err: err}
		}
		defer unix.Close(fd)
		opened[i].fd = fd
	}
	if err := setReadOnly(unix.AT_FDCWD, "/", true, unix.AT_RECURSIVE); err != nil {
		return fmt.Errorf("make / read-only: %w", err)
	}
	// nines-init has mounted it: it shows this part's processes, and network settings.
	if err := setReadOnly(unix.AT_FDCWD, "/proc", false, 0); err != nil {
		return fmt.Errorf("make /proc writable: %w", err)
	}
	for _, m := range inMemory {
		if err := mount("tmpfs", m.path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, m.options); err != nil {
			return err
		}
	}
	for _, o := range opened {
		if err := os.MkdirAll(o.target, 0o755); err != nil {
			return err
		}
		if o.readOnly {
			if err := setReadOnly(o.fd, "", true, unix.AT_EMPTY_PATH|unix.AT_RECURSIVE); err != nil {
				return fmt.Errorf("make %s read-only: %w", o.path, err)
			}
		}
		if err := unix.MoveMount(o.fd, "", unix.AT_FDCWD, o.target, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
			return &fs.PathError{Op: "mount", Path: o.target, Err: err}
		}
	}
	if err := showGroups(p.Groups); err != nil {
		return err
	}
	if err := keepSysctls(p.Sysctls); err != nil {
		return err
	}
	// The kubelet passes mounts on to containers, and gets theirs.
	return mount("", "/", "", unix.MS_REC|unix.MS_SHARED, "")
}

// keepSysctls keeps programs from the settings of the whole host, and gives those that a program
// writes all the same to files of the part.
func keepSysctls(values map[string]string) error {
	if len(values) == 0 {
		return nil
	}
	for _, folder := range []string{"/proc/sys/kernel", "/proc/sys/vm"} {
		if err := mount(folder, folder, "", unix.MS_BIND, ""); err != nil {
			return err
		}
		if err := setReadOnly(unix.AT_FDCWD, folder, true, 0); err != nil {
			return fmt.Errorf("make %s read-only: %w", folder, err)
		}
	}
	for name, value := range values {
		source := filepath.Join("/run/nines/sysctl", name)
		if err := os.MkdirAll(filepath.Dir(source), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(source, []byte(value+"\n"), 0o644); err != nil {
			return err
		}
		err := mount(source, filepath.Join("/proc/sys", name), "", unix.MS_BIND, "")
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a kernel without it
			return err
		}
	}
	return nil
}

func mount(source, target, kind string, flags uintptr, options string) error {
	if err := unix.Mount(source, target, kind, flags, options); err != nil {
		return &fs.PathError{Op: strings.TrimSpace("mount " + kind), Path: target, Err: err}
	}
	return nil
}

func setReadOnly(dir int, path string, on bool, flags uint) error {
	attributes := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}
	if !on {
		attributes = unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}
	}
	return unix.MountSetattr(dir, path, flags, &attributes)
}
