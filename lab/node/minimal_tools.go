package node

import (
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
)

// minimalTools are programs of the host that minimal containers have in place of busybox's applets, which know few of
// their options: iproute2, and shells, as busybox's runs its own applets, whatever PATH has.
var minimalTools = []string{"ip", "tc", "ss", "bridge", "sh", "bash"}

// toolLibraries is the folder of a lab's shared /bin with the tools' libraries and loader. No mount of its own is
// needed for them, which would keep the user from mounts below /lib.
const toolLibraries = ".lib"

// libraries is where programs of an architecture look for what they are linked to: the loader's path, and the name that
// Debian gives the folder of its libraries.
type libraries struct{ loader, multiarch string }

var hostLibraries = map[string]libraries{
	"amd64": {"/lib64/ld-linux-x86-64.so.2", "x86_64-linux-gnu"},
	"arm64": {"/lib/ld-linux-aarch64.so.1", "aarch64-linux-gnu"},
}[runtime.GOARCH]

// folders are those that the loader looks in by itself (ld.so(8)).
func (l libraries) folders() []string {
	return []string{"/lib/" + l.multiarch, "/usr/lib/" + l.multiarch, "/lib", "/usr/lib"}
}

// addTools copies the tools that the host has, and what they are linked to, to a lab's shared /bin. A host without one
// leaves busybox's.
func addTools(bin string) error {
	folder := filepath.Join(bin, toolLibraries)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, name := range minimalTools {
		program, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		needed, err := hostLibraries.of(program)
		if errors.Is(err, fs.ErrNotExist) {
			continue // it does not run on the host either, or the host is no Debian
		}
		if err != nil {
			return fmt.Errorf("what %s is linked to: %w", program, err)
		}
		for _, library := range needed {
			if err := copyProgram(library, filepath.Join(folder, filepath.Base(library))); err != nil {
				return err
			}
		}
		if err := copyProgram(program, filepath.Join(bin, name)); err != nil {
			return err
		}
	}
	return nil
}

// linkTools lets the programs in a minimal root file system find the tools' libraries in its /bin.
func linkTools(root string) error {
	if hostLibraries.loader == "" {
		return nil
	}
	inside := filepath.Join("/bin", toolLibraries)
	for path, target := range map[string]string{
		hostLibraries.loader:              filepath.Join(inside, filepath.Base(hostLibraries.loader)),
		"/lib/" + hostLibraries.multiarch: inside,
	} {
		path = filepath.Join(root, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.Symlink(target, path)); err != nil {
			return err
		}
	}
	return nil
}

// of lists the files that a program needs to start: the loader, and the libraries that it and they are linked to.
func (l libraries) of(program string) ([]string, error) {
	names, err := linkedTo(program)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(l.loader); err != nil {
		return nil, err
	}
	files := []string{l.loader}
	for i := 0; i < len(names); i++ {
		if slices.ContainsFunc(files, func(f string) bool { return filepath.Base(f) == names[i] }) {
			continue
		}
		file, err := l.find(names[i])
		if err != nil {
			return nil, err
		}
		more, err := linkedTo(file)
		if err != nil {
			return nil, err
		}
		files, names = append(files, file), append(names, more...)
	}
	return files, nil
}

func (l libraries) find(name string) (string, error) {
	for _, folder := range l.folders() {
		path := filepath.Join(folder, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: %w", name, fs.ErrNotExist)
}

// linkedTo names the libraries that a program or library is linked to.
func linkedTo(file string) ([]string, error) {
	f, err := elf.Open(file)
	if err != nil {
		return nil, err
	}
	names, err := f.ImportedLibraries()
	return names, errors.Join(err, f.Close())
}

// copyProgram copies a file in place of what is there, such as an applet's link.
func copyProgram(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.WriteFile(to, text, 0o755)
}
