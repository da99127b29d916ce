package kbp

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"nines.dev/nines/busypoll/kmod"
	"nines.dev/nines/exit"
)

// source is the module's folder in kmod.Sources.
const source = "kbp"

// CacheVariable names the environment variable with nines' folder for what is kept.
const CacheVariable = "NINES_CACHE_DIR"

// CacheDir is the folder of built modules, below NINES_CACHE_DIR or /var/cache/nines.
func CacheDir() string {
	dir := os.Getenv(CacheVariable)
	if dir == "" {
		dir = "/var/cache/nines"
	}
	return filepath.Join(dir, "kbp")
}

// Path is the path of the module that this nines builds for a kernel, built or not: the
// name contains the hash of the sources.
func Path(release string) string {
	return filepath.Join(CacheDir(), release+"-"+sourceHash(), Name+".ko")
}

// Find returns the path of a built module; fs.ErrNotExist if it was not built.
func Find(release string) (string, error) {
	path := Path(release)
	_, err := os.Stat(path)
	return path, err
}

func sourceHash() string {
	sum := sha256.New()
	err := fs.WalkDir(kmod.Sources, source, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := kmod.Sources.ReadFile(name)
		fmt.Fprintf(sum, "%s %d\n%s", name, len(text), text)
		return err
	})
	if err != nil {
		panic(err) // the files are in the program
	}
	return hex.EncodeToString(sum.Sum(nil)[:4])
}

// Target is a kernel that a module is built for.
type Target struct {
	// Release is the kernel's release, as uname -r prints it; empty for the running
	// kernel.
	Release string
	// Headers is the folder of the kernel's headers; empty for the packages' default.
	Headers string
	// Root is another root file system, with the kernel's headers and compiler, in
	// which make runs; empty for this host's.
	Root string
}

// headers is the folder of a kernel's headers, as seen from the root.
func (t Target) headers() string {
	if t.Headers != "" {
		return t.Headers
	}
	return filepath.Join("/lib/modules", t.Release, "build")
}

// Build builds the module for a kernel, unless it exists, and returns its path. progress
// may be nil.
func Build(ctx context.Context, t Target, progress func(string)) (string, error) {
	if t.Release == "" {
		t.Release = KernelRelease()
	}
	if module, err := Find(t.Release); err == nil {
		return module, nil
	}
	if err := t.check(); err != nil {
		return "", err
	}
	done := filepath.Dir(Path(t.Release))
	if err := os.MkdirAll(filepath.Dir(done), 0o755); err != nil {
		return "", err
	}
	// In the root, where make can see it, and not in the final folder, since make may
	// be killed.
	parent := filepath.Dir(done)
	if t.Root != "" {
		parent = filepath.Join(t.Root, "tmp")
	}
	dir, err := os.MkdirTemp(parent, "build-")
	if err != nil {
		return "", err
	}
	if progress != nil {
		progress("building the module for " + t.Release)
	}
	err = t.build(ctx, dir, done)
	if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
		return "", err
	}
	return Path(t.Release), nil
}

// check reports what is missing before make would.
func (t Target) check() error {
	lacks := func(reason, packages string) error {
		return &exit.MissingError{Capability: "building of kernel modules", Reason: reason, Remedy: "apt-get install " + packages}
	}
	if !supported(t.Release) {
		return &exit.MissingError{Capability: "the module kbp", Reason: "it is for Linux 6.1 and 6.12, not " + t.Release,
			Remedy: "nines kbp start uses what the kernel has instead"}
	}
	// A symbolic link with a target inside the root.
	if _, err := os.Lstat(filepath.Join(t.Root, t.headers())); err != nil {
		return lacks("no headers of kernel "+t.Release+" in "+t.headers(), "linux-headers-"+t.Release)
	}
	if t.Root == "" {
		if _, err := exec.LookPath("make"); err != nil {
			return lacks("no make", "make")
		}
	}
	return nil
}

// build copies the sources to a folder, runs kbuild there, and moves the module to its
// final place.
//
//	make -C /lib/modules/RELEASE/build M=DIR modules
func (t Target) build(ctx context.Context, dir, done string) error {
	files, err := fs.ReadDir(kmod.Sources, source)
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := kmod.Sources.ReadFile(path.Join(source, file.Name()))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, file.Name()), text, 0o644)
		}
		if err != nil {
			return err
		}
	}
	inside := dir
	if t.Root != "" {
		if inside, err = filepath.Rel(t.Root, dir); err != nil {
			return err
		}
		inside = "/" + inside
	}
	if strings.ContainsAny(inside, " \t:$#%'\"\\") {
		return fmt.Errorf("make cannot work in %q: set NINES_CACHE_DIR to a path of letters, digits and simple symbols", inside)
	}
	if err := t.make(ctx, inside); err != nil {
		return err
	}
	module, err := os.ReadFile(filepath.Join(dir, Name+".ko"))
	if err != nil {
		return err
	}
	return keep(module, done)
}

func (t Target) make(ctx context.Context, dir string) error {
	name := "make"
	if t.Root != "" {
		name = "/usr/bin/make"
	}
	cmd := exec.CommandContext(ctx, name, "-C", t.headers(), "M="+dir, "modules")
	cmd.Dir = "/"
	cmd.Env = []string{"LC_ALL=C", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Chroot: t.Root}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return notBuilt(t.Release, said.String(), err)
	}
	return nil
}

// keep puts the module in place atomically, so that half a module is never found.
func keep(module []byte, done string) error {
	file, err := os.CreateTemp(filepath.Dir(done), "new-")
	if err != nil {
		return err
	}
	_, err = file.Write(module)
	err = errors.Join(err, file.Chmod(0o644), file.Close(), os.MkdirAll(done, 0o755))
	if err == nil {
		err = os.Rename(file.Name(), filepath.Join(done, Name+".ko"))
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return nil
}

// notBuilt reports the compiler's first error, or kbuild's last lines, and the usual cause.
func notBuilt(release, output string, err error) error {
	lines := strings.Split(strings.TrimSpace(output), "\n")
	shown := lines[max(0, len(lines)-3):]
	for i, line := range lines {
		if strings.Contains(line, "rror:") || strings.Contains(line, "not found") {
			shown = lines[i:min(i+3, len(lines))]
			break
		}
	}
	remedy := ""
	if strings.Contains(output, "gcc") && strings.Contains(output, "not found") {
		remedy = "; the headers' package depends on the kernel's compiler: apt-get install --reinstall linux-headers-" + release
	}
	return fmt.Errorf("build the module for %s: %w: %s%s", release, err, strings.Join(shown, "; "), remedy)
}
