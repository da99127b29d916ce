package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/exit"
	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/spec"
	"nines.dev/nines/vm/guestimage"
)

// cacheDir keeps Debian root file systems between labs; no undo removes them. NINES_CACHE_DIR
// changes it.
const cacheDir = "/var/cache/nines"

// debianPackages are tools that a user needs in a network node.
var debianPackages = []string{"iproute2", "iputils-ping", "ethtool", "tcpdump", "procps"}

// systemdPackages are what a container with systemd also needs: without D-Bus its login service
// does not start.
var systemdPackages = []string{"systemd", "systemd-sysv", "dbus"}

// debian is the folder of a Debian root file system, made by mmdebstrap if the cache does not have
// it. It is built in a temporary folder and renamed when it is complete, so the remains of a killed
// build are never used; the build is journalled, so that `nines down` removes them.
func (p Place) debian(ctx context.Context, asked spec.Rootfs) (string, error) {
	release := cmp.Or(asked.Release, hostRelease())
	cache := os.Getenv("NINES_CACHE_DIR")
	if cache == "" {
		cache = cacheDir
	}
	done := filepath.Join(cache, "debian-"+release+"-"+debianArch())
	packages := debianPackages
	if asked.Init == spec.InitSystemd {
		done += "-systemd"
		packages = slices.Concat(packages, systemdPackages)
	}
	if isDir(done) {
		return done, nil
	}
	build := done + "." + p.Plan.Prefix // with the tree beside what mmdebstrap keeps there meanwhile
	tree := filepath.Join(build, "tree")
	cmd, err := guestimage.Bootstrapper(ctx, tree, release, packages)
	if err != nil {
		return "", fmt.Errorf("%w; or use rootfs: {kind: minimal}", err)
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	err = p.Journal.MakeFolder(journal.Step{Kind: journal.KindTree, Path: build}, 0o755)
	if errors.Is(err, fs.ErrExist) {
		return "", exit.Wrongf("%s already exists, and this lab did not make it; it may be from a build that a reboot interrupted; remove it, then try again", build)
	}
	if err != nil {
		return "", err
	}
	p.Progress("building Debian " + release + " with mmdebstrap, once; this takes a minute")
	if err := p.bootstrap(cmd); err != nil {
		return "", errors.Join(err, os.RemoveAll(build))
	}
	if err := guestimage.SyncTree(tree); err != nil {
		return "", err
	}
	if err := os.Rename(tree, done); err != nil && !isDir(done) { // another lab was quicker
		return "", err
	}
	return done, os.RemoveAll(build)
}

// bootstrap runs mmdebstrap in its own namespaces of mounts and processes, so that what it mounts is unmounted, and
// what it started is killed, however it ends.
func (p Place) bootstrap(cmd *exec.Cmd) error {
	token := p.Journal.Token("mmdebstrap")
	cmd.Env = append(cmd.Environ(), "NINES_TOKEN="+token)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID, Unshareflags: unix.CLONE_NEWNS, Setsid: true,
	}
	cmd.Cancel = func() error { return cmd.Process.Kill() }
	log, err := os.Create(filepath.Join(p.StateDir, bootstrapLog))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	err = process.Make(p.Journal, journal.Step{Name: "mmdebstrap", Token: token}, func() (proc.Identity, error) {
		if err := cmd.Start(); err != nil {
			return proc.Identity{}, err
		}
		return proc.Of(cmd.Process.Pid)
	})
	if err != nil {
		return err
	}
	stop := p.showLast(log.Name())
	defer stop()
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("mmdebstrap: %w: %s", err, LastLines(log.Name()))
	}
	return nil
}

// showLast reports every few seconds what mmdebstrap is doing.
func (p Place) showLast(log string) (stop func()) {
	done := make(chan struct{})
	go func() {
		ticker := time.NewTicker(3 * time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				said := strings.Split(LastLines(log), "; ")
				p.Progress("mmdebstrap: " + strings.TrimPrefix(said[len(said)-1], "I: "))
			}
		}
	}()
	return func() { close(done) }
}

// hostRelease is the code name of a Debian host, else the stable release that this version of nines
// was made for.
func hostRelease() string {
	text, err := os.ReadFile("/etc/os-release")
	if err == nil && strings.Contains(string(text), "\nID=debian\n") {
		for line := range strings.Lines(string(text)) {
			if name, ok := strings.CutPrefix(strings.TrimSpace(line), "VERSION_CODENAME="); ok {
				return name
			}
		}
	}
	return "bookworm"
}

// debianArch is Debian's name for the architecture of this program.
func debianArch() string {
	if name, ok := map[string]string{"386": "i386", "arm": "armhf", "ppc64le": "ppc64el"}[runtime.GOARCH]; ok {
		return name
	}
	return runtime.GOARCH
}
