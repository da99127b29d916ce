package node

import (
	"os"
	"path/filepath"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"nines.dev/nines/image"
	"nines.dev/nines/kernel/replace"
)

// bundle is the folder of an OCI container: what its driver reads, what it writes, and the changes
// to its image's files.
type bundle struct{ folder, name string }

func (b bundle) root() string      { return filepath.Join(b.folder, "rootfs") }
func (b bundle) changes() string   { return filepath.Join(b.folder, "changes") }
func (b bundle) work() string      { return filepath.Join(b.folder, "work") }
func (b bundle) state() string     { return filepath.Join(b.folder, "state") }
func (b bundle) pidFile() string   { return filepath.Join(b.folder, "pid") }
func (b bundle) driverLog() string { return filepath.Join(b.folder, "driver.log") }
func (b bundle) imageFile() string { return filepath.Join(b.folder, "image.json") }
func (b bundle) output() string    { return filepath.Join(b.folder, "output") }
func (b bundle) ended() string     { return filepath.Join(b.folder, "ended") }
func (b bundle) told() string      { return filepath.Join(b.folder, "told.json") }
func (b bundle) config() string    { return filepath.Join(b.folder, "config.json") }

// manager has what belongs to a driver that is a manager of containers.
func (b bundle) manager() string { return filepath.Join(b.folder, "manager") }

// make recreates the folder: a node that is rebuilt begins with its image. One that is started again
// keeps its changes, and only what the driver knows about the container before goes.
func (b bundle) make(again bool) error {
	old := []string{b.folder}
	if again {
		old = []string{b.state(), b.pidFile(), b.driverLog(), b.manager(), b.output(), b.ended(), b.told()}
	}
	for _, path := range old {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
	}
	for _, folder := range []string{b.root(), b.changes(), b.work(), b.state()} {
		if err := os.MkdirAll(folder, 0o700); err != nil {
			return err
		}
	}
	if again {
		return nil
	}
	// The root of what the container sees has this mode, whatever user runs in it.
	return os.Chmod(b.changes(), 0o755)
}

// write writes the container's configuration, and which image it is of: for commands that enter it,
// and for its next start. Environments may have passwords in them.
func (b bundle) write(config *specs.Spec, of *image.Unpacked) error {
	if err := replace.JSON(b.config(), config, 0o600); err != nil {
		return err
	}
	return keepImage(b.imageFile(), of)
}

// hasImage is true while the image that the container is of is there, unpacked.
func (b bundle) hasImage() bool {
	of, err := readImage(b.imageFile())
	return err == nil && isDir(of.Root)
}
