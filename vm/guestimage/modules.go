package guestimage

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// firstModules are those that a guest needs to find its root file system and its host's
// agent. Some kernels have some of them built in. Others lack some; then their use fails.
// ext4 asks for crc32c by an alias, not by a module's name.
var firstModules = []string{
	"virtio_pci", "virtio_blk", "virtio_console", "virtio_rng", "crc32c_generic", "ext4", "overlay", "9p", "9pnet_virtio",
}

// dependencies are a kernel's modules by name, and the files that each needs.
type dependencies struct {
	file  map[string]string   // of a module, below the folder of the kernel
	needs map[string][]string // files of a file, last first
	soft  map[string][]string // modules of a module, before it
}

// moduleName is a module's name: a file may have - where the kernel has _.
func moduleName(file string) string {
	name, _, _ := strings.Cut(filepath.Base(file), ".ko")
	return strings.ReplaceAll(name, "-", "_")
}

// readDependencies reads modules.dep and modules.softdep, see their man pages.
func readDependencies(folder string) (*dependencies, error) {
	text, err := os.ReadFile(filepath.Join(folder, "modules.dep"))
	if err != nil {
		return nil, err
	}
	soft, err := os.ReadFile(filepath.Join(folder, "modules.softdep"))
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	return parseDependencies(string(text), string(soft)), nil
}

func parseDependencies(dep, softdep string) *dependencies {
	d := &dependencies{file: map[string]string{}, needs: map[string][]string{}, soft: map[string][]string{}}
	for line := range strings.Lines(dep) {
		file, needs, found := strings.Cut(line, ":")
		if !found {
			continue
		}
		d.file[moduleName(file)] = file
		d.needs[file] = strings.Fields(needs)
	}
	for line := range strings.Lines(softdep) {
		words := strings.Fields(line)
		if len(words) < 4 || words[0] != "softdep" || words[2] != "pre:" {
			continue
		}
		for _, name := range words[3:] {
			if name == "post:" {
				break
			}
			module := strings.ReplaceAll(words[1], "-", "_")
			d.soft[module] = append(d.soft[module], strings.ReplaceAll(name, "-", "_"))
		}
	}
	return d
}

// order sorts the files of modules so that each comes after those that it needs. It leaves
// out unknown modules.
func (d *dependencies) order(names []string) []string {
	var files []string
	var visit func(name string, above []string)
	visit = func(name string, above []string) {
		file, there := d.file[name]
		if !there || slices.Contains(above, name) {
			return
		}
		above = append(above, name)
		for _, soft := range d.soft[name] {
			visit(soft, above)
		}
		for _, need := range slices.Backward(d.needs[file]) {
			visit(moduleName(need), above)
		}
		if !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	for _, name := range names {
		visit(strings.ReplaceAll(name, "-", "_"), nil)
	}
	return files
}

// readModule reads a module's file, decompressed.
func readModule(path string) ([]byte, error) {
	programs := map[string]string{".xz": "xz", ".zst": "zstd", ".gz": "gzip"}
	program, compressed := programs[filepath.Ext(path)]
	if !compressed {
		return os.ReadFile(path)
	}
	var stderr bytes.Buffer
	cmd := exec.Command(program, "--decompress", "--stdout", path)
	cmd.Stderr = &stderr
	data, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w: %s", program, path, err, strings.TrimSpace(stderr.String()))
	}
	return data, nil
}
