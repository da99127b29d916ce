package image

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	securejoin "github.com/cyphar/filepath-securejoin"
	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
)

// building is a tree that becomes an image.
type building struct {
	tree  string
	epoch time.Time
}

// copyFile copies a file of the host to a path in the tree, whose links lead nowhere else. Its owner
// is root.
func (b building) copyFile(source, target string) error {
	folder, err := securejoin.SecureJoin(b.tree, filepath.Dir(target))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	from, info, err := openFile(source)
	if err != nil {
		return err
	}
	defer from.Close()
	path := filepath.Join(folder, filepath.Base(target))
	if old, err := os.Lstat(path); err == nil && old.IsDir() {
		return fmt.Errorf("%s is a folder in the image", target)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	to, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Chmod(info.Mode().Perm()), to.Close())
}

// scriptPath is where the script is in the tree while it runs.
const scriptPath = "/nines-script"

func (b building) runScript(ctx context.Context, script string) error {
	if err := b.copyFile(script, scriptPath); err != nil {
		return fmt.Errorf("copy the script %s: %w", script, err)
	}
	inside := filepath.Join(b.tree, scriptPath)
	if err := os.Chmod(inside, 0o700); err != nil {
		return err
	}
	if err := b.run(ctx, scriptPath); err != nil {
		return fmt.Errorf("the script %s: %w", script, err)
	}
	return os.Remove(inside)
}

// install adds packages of Debian to a tree that has apt.
func (b building) install(ctx context.Context, packages []string) error {
	if info, err := os.Stat(filepath.Join(b.tree, "usr/bin/apt-get")); err != nil || info.IsDir() {
		return exit.Wrongf("the recipe's base image has no apt-get to install packages; add files with files and script")
	}
	if err := b.run(ctx, "/usr/bin/apt-get", "update"); err != nil {
		return err
	}
	return b.run(ctx, "/usr/bin/apt-get", append([]string{"install", "--yes", "--no-install-recommends"}, packages...)...)
}

// devices are what programs expect in /dev; the numbers are in Documentation/admin-guide/devices.txt.
var devices = map[string]uint32{"null": 3, "zero": 5, "full": 7, "random": 8, "urandom": 9}

// run runs a program of the tree as root, in mount, pid and ipc namespaces of its own. It is the
// host's kernel and network, with the host's way to it, and ends with this process.
func (b building) run(ctx context.Context, program string, arguments ...string) error {
	undo, err := b.prepare()
	if err != nil {
		return errors.Join(err, undo())
	}
	cmd := exec.CommandContext(ctx, "unshare", append([]string{
		"--mount", "--pid", "--ipc", "--fork", "--kill-child", "--root=" + b.tree, "--wd=/", "--mount-proc", "--", program,
	}, arguments...)...)
	cmd.Env = append([]string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C",
		"DEBIAN_FRONTEND=noninteractive", fmt.Sprintf("SOURCE_DATE_EPOCH=%d", b.epoch.Unix()),
		"APT_CONFIG=" + aptConfig,
	}, proxies(os.Environ())...)
	return errors.Join(runToEnd(cmd, program), undo())
}

// runToEnd runs a program, called name in an error, which ends with this process.
func runToEnd(cmd *exec.Cmd, name string) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	said := &tail{}
	cmd.Stdout, cmd.Stderr = said, said
	cmd.WaitDelay = time.Second
	// The signal comes at the end of the thread that starts the program, prctl(2).
	runtime.LockOSThread()
	err := cmd.Run()
	runtime.UnlockOSThread()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, said)
	}
	return nil
}

// aptConfig is where the proxies of the host's apt are in the tree while a program runs. What the image
// itself configures comes after it, apt.conf(5).
const aptConfig = "/nines-apt.conf"

// proxyOfApt is a line of apt-config's that names a proxy, of all servers or of one.
var proxyOfApt = regexp.MustCompile(`(?m)^Acquire::https?::Proxy(::\S+)? ".*";\n`)

// aptProxies are the proxies of the host's apt, as lines of its configuration; none where the host has no
// apt.
func aptProxies() string {
	text, err := exec.Command("apt-config", "dump").Output()
	if err != nil {
		return ""
	}
	return strings.Join(proxyOfApt.FindAllString(string(text), -1), "")
}

// proxies are the variables of an environment that say how to reach the network, which programs know in
// small and in capital letters.
func proxies(environment []string) []string {
	return slices.DeleteFunc(slices.Clone(environment), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return !slices.Contains([]string{"http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"}, strings.ToLower(name))
	})
}

// prepare gives the tree what a program needs while it runs, where the tree lacks it.
func (b building) prepare() (undo func() error, err error) {
	var made []string
	giveBack := func() error { return nil }
	undo = func() error { return errors.Join(giveBack(), b.remove(made)) }
	folder := func(name string) (string, error) {
		path, err := securejoin.SecureJoin(b.tree, name)
		if err != nil {
			return "", err
		}
		return path, os.MkdirAll(path, 0o755)
	}
	if _, err := folder("proc"); err != nil {
		return undo, err
	}
	dev, err := folder("dev")
	if err != nil {
		return undo, err
	}
	for name, minor := range devices {
		path := filepath.Join(dev, name)
		if err := unix.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(1, minor))); errors.Is(err, unix.EEXIST) {
			continue
		} else if err != nil {
			return undo, &fs.PathError{Op: "mknod", Path: path, Err: err}
		}
		made = append(made, path)
		if err := os.Chmod(path, 0o666); err != nil {
			return undo, err
		}
	}
	write := func(path string, text []byte) error {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		if err != nil {
			return err
		}
		made = append(made, path)
		_, err = file.Write(text)
		return errors.Join(err, file.Close())
	}
	if err := write(filepath.Join(b.tree, aptConfig), []byte(aptProxies())); err != nil {
		return undo, err
	}
	if text, err := os.ReadFile("/etc/resolv.conf"); err == nil {
		// Where systemd-resolved is in the image this is a link to a file that the service would make.
		resolver, err := securejoin.SecureJoin(b.tree, "etc/resolv.conf")
		if err != nil {
			return undo, err
		}
		if err := write(resolver, text); err != nil {
			return undo, err
		}
		if giveBack, err = b.lendResolver(text); err != nil {
			return undo, err
		}
	}
	return undo, nil
}

// remove removes files that were made in the tree. The program that ran meanwhile may have put links in place
// of folders: what they lead to outside of the tree is not ours.
func (b building) remove(paths []string) error {
	root, err := os.OpenRoot(b.tree)
	if err != nil {
		return err
	}
	defer root.Close()
	var failures []error
	for _, path := range paths {
		name, err := filepath.Rel(b.tree, path)
		if err == nil {
			err = root.Remove(name)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			failures = append(failures, fmt.Errorf("remove %s, which was in the image only while its programs ran: %w; do not change its folder", name, err))
		}
	}
	return errors.Join(failures...)
}

// volatile is what differs from build to build, or is of this machine.
var volatile = []string{
	"var/lib/apt/lists/*", "var/cache/apt/*", "var/log/apt/*", "var/log/dpkg.log", "var/log/alternatives.log",
	"var/log/bootstrap.log", "var/cache/ldconfig/aux-cache", "var/cache/debconf/*-old", "var/lib/dpkg/*-old",
	"tmp/*", "var/tmp/*", "run/*", "root/.bash_history",
}

// hostKeys are made when openssh-server is installed: each node has to have its own.
const hostKeys = "etc/ssh/ssh_host_*"

func (b building) clean(ssh bool) error {
	patterns := volatile
	if ssh {
		patterns = append(patterns[:len(patterns):len(patterns)], hostKeys)
	}
	for _, pattern := range patterns {
		folder, err := securejoin.SecureJoin(b.tree, filepath.Dir(pattern))
		if err != nil {
			return err
		}
		found, err := os.ReadDir(folder)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for _, entry := range found {
			if fits, _ := filepath.Match(filepath.Base(pattern), entry.Name()); fits {
				if err := os.RemoveAll(filepath.Join(folder, entry.Name())); err != nil {
					return err
				}
			}
		}
	}
	// systemd makes one at the first boot where it is empty, machine-id(5).
	etc, err := securejoin.SecureJoin(b.tree, "etc")
	if err != nil {
		return err
	}
	id := filepath.Join(etc, "machine-id")
	if info, err := os.Lstat(id); err == nil && info.Mode().IsRegular() {
		return os.Truncate(id, 0)
	}
	return nil
}
