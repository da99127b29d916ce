package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"nines.dev/nines/host"
	"nines.dev/nines/journal"
	"nines.dev/nines/journal/process"
	"nines.dev/nines/kernel/proc"
	"nines.dev/nines/spec"
)

// cacheDir keeps Debian root file systems between labs; nothing undoes them.
// NINES_CACHE_DIR moves it.
const cacheDir = "/var/cache/nines"

// debianPackages are what one misses in a node of a network.
const debianPackages = "iproute2,iputils-ping,ethtool,tcpdump,procps"

// systemdPackages are what a container with systemd takes besides: without D-Bus its
// logins do not start.
const systemdPackages = "systemd,systemd-sysv,dbus"

// debian is the folder of a Debian root file system, made by debootstrap if the
// cache does not have it. It is built beside its place and renamed when it is whole,
// so what a killed build leaves is never used; the build is journalled, so that
// `nines down` removes it.
func (p Place) debian(ctx context.Context, release string, init spec.RootfsInit) (string, error) {
	if release == "" {
		release = hostRelease()
	}
	cache := os.Getenv("NINES_CACHE_DIR")
	if cache == "" {
		cache = cacheDir
	}
	done := filepath.Join(cache, "debian-"+release+"-"+debianArch())
	packages := debianPackages
	if init == spec.InitSystemd {
		done += "-systemd"
		packages += "," + systemdPackages
	}
	if isDir(done) {
		return done, nil
	}
	if _, err := exec.LookPath("debootstrap"); err != nil {
		return "", &host.MissingError{
			Capability: "debootstrap", Reason: "there is no debootstrap",
			Remedy: "apt-get install debootstrap, or use rootfs: {kind: minimal}",
		}
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	build := done + "." + p.Plan.Prefix
	err := p.Journal.Make(journal.Step{Kind: journal.KindTree, Path: build}, func() (journal.Learnt, error) {
		return journal.Learnt{}, os.MkdirAll(build, 0o755)
	})
	if err != nil {
		return "", err
	}
	p.Progress("building Debian " + release + " with debootstrap, once; this takes a minute")
	if err := p.debootstrap(ctx, release, packages, build); err != nil {
		return "", errors.Join(err, os.RemoveAll(build))
	}
	if err := syncTree(build); err != nil {
		return "", err
	}
	if err := os.Rename(build, done); err != nil && !isDir(done) { // another lab was quicker
		return "", err
	}
	return done, nil
}

// debootstrap runs in a mount namespace of its own, so that the /proc that it
// mounts goes with it, however it ends.
func (p Place) debootstrap(ctx context.Context, release, packages, dir string) error {
	token := p.Journal.Token("debootstrap")
	cmd := exec.CommandContext(ctx, "debootstrap", "--variant=minbase", "--include="+packages, release, dir)
	cmd.Env = append(os.Environ(), "NINES_TOKEN="+token)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID, Unshareflags: unix.CLONE_NEWNS, Setsid: true,
	}
	cmd.Cancel = func() error { return cmd.Process.Kill() }
	log, err := os.Create(filepath.Join(p.StateDir, "debootstrap.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	err = process.Make(p.Journal, journal.Step{Name: "debootstrap", Token: token}, func() (proc.Identity, error) {
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
		return fmt.Errorf("debootstrap %s: %w: %s", release, err, LastLines(log.Name()))
	}
	return nil
}

// showLast tells every few seconds what debootstrap is at.
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
				p.Progress("debootstrap: " + strings.TrimPrefix(said[len(said)-1], "I: "))
			}
		}
	}()
	return func() { close(done) }
}

// syncTree writes a tree to the disk: unlike the journal, the cache outlives a
// reboot, and a half-written one must not look whole after a power cut.
func syncTree(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return fmt.Errorf("sync %s: %w", dir, err)
	}
	return nil
}

// hostRelease is the host's code name where it is Debian, else the stable one that
// this version of nines was made for.
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
