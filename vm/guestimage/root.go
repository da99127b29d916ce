package guestimage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Root is a root file system.
type Root struct {
	// Disk is a file with ext4, Packages a file with the list of packages and versions
	// in it.
	Disk, Packages string
}

// rootFormat increases when root file systems are made differently.
const rootFormat = 1

// notInRoots excludes files that guests do not need (dpkg(1), --path-exclude).
var notInRoots = []string{
	"/usr/share/doc/*", "/usr/share/man/*", "/usr/share/info/*", "/usr/share/locale/*", "/usr/share/i18n/*",
	"/usr/share/lintian/*", "/usr/share/bash-completion/*",
}

// Root is a root file system of the host's Debian release with packages; it is made if the
// store does not have it.
func (s Store) Root(ctx context.Context, packages []string) (*Root, error) {
	release := HostRelease()
	r := recipe{Format: rootFormat, Release: release.Name, Packages: slices.Sorted(slices.Values(packages))}
	dir, err := s.folder(ctx, "root-"+release.Name, r, func(ctx context.Context, dir string) error {
		s.progress("making a root file system of Debian %s with %d packages, once; this takes a minute or two", release.Number, len(packages))
		return s.bootstrap(ctx, dir, release.Name, r.Packages)
	})
	if err != nil {
		return nil, err
	}
	return &Root{Disk: filepath.Join(dir, "root.ext4"), Packages: filepath.Join(dir, "packages")}, nil
}

func (s Store) bootstrap(ctx context.Context, dir, release string, packages []string) error {
	if err := need(map[string]string{"mke2fs": "e2fsprogs"}); err != nil {
		return err
	}
	tree, err := Bootstrap(ctx, dir, release, packages, time.Time{})
	if err != nil {
		return err
	}
	installed, err := run(ctx, dir, "dpkg-query", "--admindir="+filepath.Join(tree, "var/lib/dpkg"), "--show")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "packages"), []byte(installed), 0o644); err != nil {
		return err
	}
	s.progress("writing the root file system")
	err = MakeDisk(ctx, filepath.Join(dir, "root.ext4"), tree)
	return errors.Join(err, os.RemoveAll(tree))
}

// treeFolder is the folder of mmdebstrap's result.
const treeFolder = "tree"

// Bootstrap makes a root file system of packages below a folder, and returns its path. What is made
// at a time of its own gets the one given: the same packages then give the same files.
func Bootstrap(ctx context.Context, dir, release string, packages []string, epoch time.Time) (string, error) {
	tree := filepath.Join(dir, treeFolder)
	cmd, err := Bootstrapper(ctx, tree, release, packages)
	if err != nil {
		return "", err
	}
	if !epoch.IsZero() {
		cmd.Env = append(cmd.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", epoch.Unix()))
	}
	_, err = finish(cmd)
	return tree, err
}

// Bootstrapper is the command that makes a root file system of packages in a folder that does not exist yet, or
// is empty. It leaves out notInRoots, and the files without. Temporary files are in the folder above it: the
// command leaves them there if it is killed.
func Bootstrapper(ctx context.Context, tree, release string, packages []string, without ...string) (*exec.Cmd, error) {
	if err := need(map[string]string{"mmdebstrap": "mmdebstrap"}); err != nil {
		return nil, err
	}
	list, err := Sources(ctx, release)
	if err != nil {
		return nil, err
	}
	// dpkg need not sync each file: the whole folder is synced in the end.
	arguments := []string{"--mode=root", "--variant=minbase", "--format=directory", "--dpkgopt=force-unsafe-io", "--include=" + strings.Join(packages, ",")}
	for _, path := range slices.Concat(notInRoots, without) {
		arguments = append(arguments, "--dpkgopt=path-exclude="+path)
	}
	cmd := command(ctx, "/", "mmdebstrap", append(arguments, release, tree, "-")...)
	cmd.Env = append(cmd.Env, "TMPDIR="+filepath.Dir(tree))
	cmd.Stdin = strings.NewReader(strings.Join(list, "\n") + "\n")
	return cmd, nil
}
