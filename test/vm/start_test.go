package vm

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"nines.dev/nines/busypoll/kbp"
	"nines.dev/nines/vm/image"
	"nines.dev/nines/vm/vlab"
)

// notCopied is what no test in the laboratory reads, and would only take time and memory
// there.
var notCopied = []string{".git", "build", "results", "web"}

// startLaboratory boots, with what the tests need of the repository at its own path.
func startLaboratory(ctx context.Context, repository string, store image.Store, boot oneBoot) (*vlab.Laboratory, error) {
	options := boot.options
	options.Store, options.Progress, options.Programs = store, say, filepath.Join(repository, "bin")
	rooms, err := os.ReadDir(repository)
	if err != nil {
		return nil, err
	}
	for _, room := range rooms {
		if !slices.Contains(notCopied, room.Name()) {
			options.Copy = append(options.Copy, filepath.Join(repository, room.Name()))
		}
	}
	options.Copy = append(options.Copy, filepath.Join(repository, "build", "vm"))
	// The first boot of all makes the file systems, too, maybe beside what takes both CPUs.
	ctx, cancel := context.WithTimeout(ctx, 30*time.Minute)
	defer cancel()
	if err := buildModule(ctx, store, options.Kernel); err != nil {
		return nil, err
	}
	return vlab.Start(ctx, options)
}

// buildModule builds the live patch of busypoll/kmod/kbp for a boot's kernel, which the laboratory
// then has: it has no compiler of its own. Only Debian's plain kernels get one.
func buildModule(ctx context.Context, store image.Store, kernel string) error {
	if !strings.HasPrefix(kernel, "debian") {
		return nil
	}
	release, root, err := vlab.Headers(ctx, store, kernel)
	if err == nil {
		_, err = kbp.Build(ctx, kbp.Target{Release: release, Root: root}, say)
	}
	return err
}
