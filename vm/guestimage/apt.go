package guestimage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"nines.dev/nines/exit"
)

// MirrorVariable names the environment variable with the address of a Debian mirror, for
// hosts whose apt has none.
const MirrorVariable = "NINES_DEBIAN_MIRROR"

// keyring has the keys with which Debian signs its releases (debian-archive-keyring).
const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// need returns an error that names a missing program.
func need(programs map[string]string) error {
	for program, pkg := range programs {
		if _, err := exec.LookPath(program); err != nil {
			return exit.Lacksf("making images needs %s: apt-get install %s", program, pkg)
		}
	}
	return nil
}

// run runs a program that ends with ctx or this process. It returns the program's output;
// on failure the error has the last lines.
func run(ctx context.Context, dir, name string, arguments ...string) (string, error) {
	return finish(command(ctx, dir, name, arguments...))
}

// command is run's command, for finish, or for a caller that runs it in another way.
func command(ctx context.Context, dir, name string, arguments ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, arguments...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	// The children too: a package manager has many.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	return cmd
}

func finish(cmd *exec.Cmd) (string, error) {
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		said := lines(stderr.String() + stdout.String())
		return "", fmt.Errorf("%s: %w: %s", filepath.Base(cmd.Path), err, strings.Join(said[max(0, len(said)-5):], "; "))
	}
	return stdout.String(), nil
}

// Sources are the lines of sources.list for a release.
func Sources(ctx context.Context, release string) ([]string, error) {
	mirror, security := os.Getenv(MirrorVariable), ""
	if mirror == "" {
		// SITE is the address, RELEASE the suite as the user's sources name it.
		text, err := run(ctx, "/", "apt-get", "indextargets", "--format", "$(SITE) $(RELEASE) $(COMPONENT)", "Created-By: Packages")
		if err != nil {
			return nil, err
		}
		mirror, security = sites(text, slices.Sorted(slices.Values(releaseNames())))
	}
	if mirror == "" {
		return nil, errors.New("apt's sources name no mirror of Debian; " + MirrorVariable + " can name one")
	}
	signed := ""
	if _, err := os.Stat(keyring); err == nil {
		signed = "[signed-by=" + keyring + "] "
	}
	list := []string{
		fmt.Sprintf("deb %s%s %s main", signed, mirror, release),
		fmt.Sprintf("deb %s%s %s-updates main", signed, mirror, release),
	}
	if security != "" {
		list = append(list, fmt.Sprintf("deb %s%s %s-security main", signed, security, release))
	}
	return list, nil
}

// sites finds the addresses of Debian and of its security updates in apt's targets.
func sites(targets string, releases []string) (mirror, security string) {
	for _, line := range lines(targets) {
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[2] != "main" {
			continue
		}
		name, isSecurity := strings.CutSuffix(fields[1], "-security")
		switch {
		case !slices.Contains(releases, name):
		case isSecurity && security == "":
			security = fields[0]
		case !isSecurity && mirror == "":
			mirror = fields[0]
		}
	}
	return mirror, security
}

// apt is a package manager with its own sources and folder, separate from the host's.
type apt struct{ dir string }

// newApt fetches the lists of a release into a folder.
func newApt(ctx context.Context, dir, release string) (apt, error) {
	if err := need(map[string]string{"apt-get": "apt", "dpkg-deb": "dpkg"}); err != nil {
		return apt{}, err
	}
	list, err := Sources(ctx, release)
	if err != nil {
		return apt{}, err
	}
	a := apt{dir: dir}
	for _, folder := range []string{"lists/partial", "archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			return apt{}, err
		}
	}
	if err := os.WriteFile(a.path("sources.list"), []byte(strings.Join(list, "\n")+"\n"), 0o644); err != nil {
		return apt{}, err
	}
	_, err = run(ctx, dir, "apt-get", a.options("update")...)
	return a, err
}

func (a apt) path(name string) string { return filepath.Join(a.dir, name) }

func (a apt) options(arguments ...string) []string {
	return append([]string{
		"-q", "-o", "Dir::Etc::sourcelist=" + a.path("sources.list"), "-o", "Dir::Etc::sourceparts=-",
		"-o", "Dir::State::lists=" + a.path("lists"), "-o", "Dir::Cache::pkgcache=" + a.path("pkgcache.bin"), "-o", "Dir::Cache::srcpkgcache=",
		// Nobody reads the descriptions of packages.
		"-o", "Acquire::Languages=none",
		// The folder is root's; apt's own user may not write there.
		"-o", "APT::Sandbox::User=root",
	}, arguments...)
}

// depends is the package on which a metapackage for the newest version depends.
func (a apt) depends(ctx context.Context, pkg string) (string, error) {
	text, err := run(ctx, a.dir, "apt-cache", a.options("depends", "--no-recommends", "--no-suggests", "--no-enhances", pkg)...)
	if err != nil {
		return "", err
	}
	for _, line := range lines(text) {
		if name, found := strings.CutPrefix(line, "Depends: "); found {
			return name, nil
		}
	}
	return "", fmt.Errorf("package %s depends on nothing", pkg)
}

// fetch downloads a package and unpacks it into a folder.
func (a apt) fetch(ctx context.Context, pkg, into string) error {
	if _, err := run(ctx, a.path("archives"), "apt-get", a.options("download", pkg)...); err != nil {
		return err
	}
	files, _ := filepath.Glob(a.path("archives/" + pkg + "_*.deb"))
	if len(files) != 1 {
		return fmt.Errorf("apt has downloaded %d files for package %s", len(files), pkg)
	}
	_, err := run(ctx, a.dir, "dpkg-deb", "--extract", files[0], into)
	return err
}
